! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> The description of an optimizer.
module kadam_setups
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  use kadam_c_interface
  implicit none
  private

  public :: kadam_setup

  !> The description of an optimizer. Its procedures do not fail: it keeps the first mistake, and
  !> kadam_optimizer%create() reports it.
  type :: kadam_setup
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create => setup_create
    procedure :: destroy => setup_destroy
    !> The kadam_setup of kadam.h that it holds.
    procedure :: c_handle => setup_c_handle
    !> Sets an option by its name: to a number, a logical, a text, or a rank-1 array of real64.
    generic :: set => set_real32, set_real64, set_int32, set_int64, set_logical, set_text, set_reals
    !> Appends a tensor to the flat vector of parameters, with this number of elements, or with this shape, as the
    !> intrinsic shape() returns it.
    generic :: tensor => tensor_int32, tensor_int64, tensor_shape_int32, tensor_shape_int64
    procedure :: group => setup_group
    procedure :: ranks_per_node => setup_ranks_per_node
    procedure :: gpu_aware => setup_gpu_aware
    procedure :: wire => setup_wire
    procedure :: piece_bytes => setup_piece_bytes
    procedure :: timeout_seconds => setup_timeout_seconds
    procedure :: allow_alone => setup_allow_alone
    !> Says that all arrays lie in device memory: step() then takes type(c_ptr); other procedures take an array that
    !> c_f_pointer() made of the device pointer, which is passed on and never read here.
    procedure :: use_device_memory => setup_use_device_memory
    procedure, private :: set_real32, set_real64, set_int32, set_int64, set_logical, set_text, set_reals
    procedure, private :: tensor_int32, tensor_int64, tensor_shape_int32, tensor_shape_int64
  end type

contains

  subroutine setup_create(this, optimizer)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: optimizer
    call this%destroy()
    this%handle = c_setup_create(c_text(optimizer))
  end subroutine

  subroutine setup_destroy(this)
    class(kadam_setup), intent(inout) :: this
    call c_setup_destroy(this%handle)
    this%handle = c_null_ptr
  end subroutine

  subroutine set_real64(this, option, value)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: option
    real(real64), intent(in) :: value
    call c_setup_real(this%handle, c_text(option), real(value, c_double))
  end subroutine

  subroutine set_real32(this, option, value)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: option
    real(real32), intent(in) :: value
    call this%set_real64(option, as_written(value))
  end subroutine

  subroutine set_int64(this, option, value)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: option
    integer(int64), intent(in) :: value
    call c_setup_integer(this%handle, c_text(option), int(value, c_int64_t))
  end subroutine

  subroutine set_int32(this, option, value)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: option
    integer(int32), intent(in) :: value
    call this%set_int64(option, int(value, int64))
  end subroutine

  subroutine set_logical(this, option, value)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: option
    logical, intent(in) :: value
    call c_setup_flag(this%handle, c_text(option), merge(1_c_int, 0_c_int, value))
  end subroutine

  subroutine set_text(this, option, value)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: option, value
    call c_setup_text(this%handle, c_text(option), c_text(value))
  end subroutine

  subroutine set_reals(this, option, values)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: option
    real(real64), intent(in) :: values(:)
    call c_setup_reals(this%handle, c_text(option), size(values, kind=c_int), real(values, c_double))
  end subroutine

  subroutine tensor_int64(this, name, elements)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: elements
    call c_setup_tensor(this%handle, c_text(name), int(elements, c_int64_t))
  end subroutine

  subroutine tensor_int32(this, name, elements)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: elements
    call this%tensor_int64(name, int(elements, int64))
  end subroutine

  !> Passes the extents to C in reverse order, since in C the last one varies fastest. spectral: .false. for
  !> embeddings and output layers, which muon leaves to Adam (default .true.).
  subroutine tensor_shape_int64(this, name, shape, spectral)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: shape(:)
    logical, intent(in), optional :: spectral
    logical :: is_spectral
    is_spectral = .true.
    if (present(spectral)) is_spectral = spectral
    call c_setup_shaped_tensor(this%handle, c_text(name), size(shape, kind=c_int), &
                               int(shape(size(shape):1:-1), c_int64_t), merge(1_c_int, 0_c_int, is_spectral))
  end subroutine

  subroutine tensor_shape_int32(this, name, shape, spectral)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: name
    integer(int32), intent(in) :: shape(:)
    logical, intent(in), optional :: spectral
    call this%tensor_shape_int64(name, int(shape, int64), spectral)
  end subroutine

  !> Adds a parameter group: the tensors whose names match the pattern `tensors`, in which * stands for any characters;
  !> a tensor belongs to the first group that it matches. lr_scale: factor on the learning rate (default 1).
  !> weight_decay: default that of the optimizer. dense: whether they are exchanged exactly (default .false.).
  subroutine setup_group(this, tensors, lr_scale, weight_decay, dense)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: tensors
    real(real64), intent(in), optional :: lr_scale, weight_decay
    logical, intent(in), optional :: dense
    real(c_double) :: scale, decay
    logical :: exact
    scale = 1
    decay = ieee_value(decay, ieee_quiet_nan)
    exact = .false.
    if (present(lr_scale)) scale = lr_scale
    if (present(weight_decay)) decay = weight_decay
    if (present(dense)) exact = dense
    call c_setup_group(this%handle, c_text(tensors), scale, decay, merge(1_c_int, 0_c_int, exact))
  end subroutine

  !> Sets the levels of an exchange. 1: one level, the default; 0: two levels, with the ranks that share memory in a
  !> node; more: two levels, with this number of consecutive ranks in a node.
  subroutine setup_ranks_per_node(this, ranks)
    class(kadam_setup), intent(inout) :: this
    integer, intent(in) :: ranks
    call c_setup_ranks_per_node(this%handle, int(ranks, c_int))
  end subroutine

  !> Says whether MPI takes device memory: 'on', 'off', or 'auto', the default: what MPI says of itself.
  subroutine setup_gpu_aware(this, word)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: word
    call c_setup_gpu_aware(this%handle, c_text(word))
  end subroutine

  !> Sets what carries messages: 'mpi', the default, or 'tcp': connections that Kadam makes itself, over which go_on()
  !> works with every MPI, and processes can join.
  subroutine setup_wire(this, word)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: word
    call c_setup_wire(this%handle, c_text(word))
  end subroutine

  !> Sets the length of the pieces that messages are cut into; 0, the default: chosen by where kernels run.
  subroutine setup_piece_bytes(this, bytes)
    class(kadam_setup), intent(inout) :: this
    integer, intent(in) :: bytes
    call c_setup_piece_bytes(this%handle, int(bytes, c_int64_t))
  end subroutine

  !> Sets how long a call waits for other ranks while nothing comes or leaves, before it fails; 0: it waits for ever.
  !> Default: 1800.
  subroutine setup_timeout_seconds(this, seconds)
    class(kadam_setup), intent(inout) :: this
    real(real64), intent(in) :: seconds
    call c_setup_timeout_seconds(this%handle, real(seconds, c_double))
  end subroutine

  !> Says whether one rank may train alone where the launcher has started several tasks (default .false.).
  subroutine setup_allow_alone(this, value)
    class(kadam_setup), intent(inout) :: this
    logical, intent(in) :: value
    call c_setup_allow_alone(this%handle, merge(1_c_int, 0_c_int, value))
  end subroutine

  subroutine setup_use_device_memory(this)
    class(kadam_setup), intent(inout) :: this
    call c_setup_memory(this%handle, c_memory_device)
  end subroutine

  function setup_c_handle(this) result(handle)
    class(kadam_setup), intent(in) :: this
    type(c_ptr) :: handle
    handle = this%handle
  end function
end module kadam_setups
