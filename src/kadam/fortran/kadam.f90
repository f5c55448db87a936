! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> Kadam for Fortran: kadam.h with assumed-shape arrays, mpi_f08 communicators and text of any length.
!>
!>   type(kadam_setup) :: setup
!>   type(kadam_optimizer) :: optimizer
!>   call setup%create('onebit_adam')
!>   call setup%set('lr', 1e-3)
!>   call setup%tensor('weights', 7840)
!>   call optimizer%create(setup, MPI_COMM_WORLD, stat, errmsg)
!>   call setup%destroy()
!>   ...
!>   call optimizer%step(x, gradient, stat, errmsg)
!>   ...
!>   call optimizer%destroy(stat)
!>
!> stat is 0 (kadam_success), or one of the other codes; errmsg then says why. What each call does, and which are
!> collective, stands in kadam.h. Handles are destroyed by hand: an assignment copies the handle, not the object.
module kadam
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int16, int32, int64, real32, real64
  use, intrinsic :: ieee_arithmetic, only: ieee_quiet_nan, ieee_value
  use mpi_f08, only: MPI_Comm
  use kadam_c_interface
  implicit none
  private

  public :: kadam_setup, kadam_optimizer, kadam_step_result, kadam_statistics, kadam_health
  public :: kadam_version, kadam_execution_space, kadam_kokkos_initialize, kadam_kokkos_finalize
  public :: kadam_success, kadam_invalid_argument, kadam_not_ready, kadam_mpi_failure, kadam_peer_failure
  public :: kadam_failure, kadam_no_checkpoint, kadam_out_of_memory, kadam_not_built
  public :: kadam_bfloat16, kadam_float16

  !> What to make. Its procedures do not fail: kadam_optimizer%create() says what is wrong.
  type :: kadam_setup
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create => setup_create
    procedure :: destroy => setup_destroy
    !> An option by name: a number, a logical, a text, or a rank-1 array of reals.
    generic :: set => set_real32, set_real64, set_int32, set_int64, set_logical, set_text, set_reals
    !> The next tensor of the flat vector of parameters.
    generic :: tensor => tensor_int32, tensor_int64
    procedure :: group => setup_group
    procedure :: ranks_per_node => setup_ranks_per_node
    procedure :: gpu_aware => setup_gpu_aware
    !> Arrays will be device memory: then the steps that take a type(c_ptr) are to be used.
    procedure :: use_device_memory => setup_use_device_memory
    procedure, private :: set_real32, set_real64, set_int32, set_int64, set_logical, set_text, set_reals
    procedure, private :: tensor_int32, tensor_int64
  end type

  !> What a step did.
  type :: kadam_step_result
    integer(int64) :: step = 0 !< steps taken so far; a skipped one does not count
    character(len=16) :: phase = ''
    real(real64) :: learning_rate = 0, gradient_norm = 0, gradient_scale = 1
    logical :: skipped = .false. !< a gradient was NaN or infinite on some rank: nothing was changed
    logical :: synchronised = .true. !< parameters are now equal on all ranks
    integer(int32) :: raised = 0 !< bits that any rank gave to raise()
  end type

  !> One per rank, with the same setup on all.
  type :: kadam_optimizer
    private
    type(c_ptr) :: handle = c_null_ptr
    integer(int64) :: elements = 0
  contains
    procedure :: create => optimizer_create
    procedure :: destroy => optimizer_destroy
    !> step(x, gradient, stat [, errmsg] [, result]): gradients of real32, or of 16 bits in an integer(int16).
    generic :: step => step_real32, step_int16, step_device
    procedure :: gradient_ready => optimizer_gradient_ready
    procedure :: progress => optimizer_progress
    procedure :: raise => optimizer_raise
    procedure :: flush => optimizer_flush
    procedure :: consensus => optimizer_consensus
    procedure :: wait => optimizer_wait
    procedure :: set_stream => optimizer_set_stream
    !> From now on parameters are written there as well, rounded to 16 bits; the array has to live on.
    procedure :: set_model => optimizer_set_model
    procedure :: save => optimizer_save
    procedure :: load => optimizer_load
    procedure :: load_newest => optimizer_load_newest
    !> What was given to save().
    procedure :: words => optimizer_words
    procedure :: statistics => optimizer_statistics
    procedure :: measure_phases => optimizer_measure_phases
    procedure :: health => optimizer_health
    procedure, private :: step_real32, step_int16, step_device
  end type

contains

  ! ---- library ----------------------------------------------------------------------------------------------

  function kadam_version() result(text)
    character(len=:), allocatable :: text
    text = text_at(c_version())
  end function

  function kadam_execution_space() result(text)
    character(len=:), allocatable :: text
    text = text_at(c_execution_space())
  end function

  !> Once, after MPI_Init. threads: of this rank (default: as OMP_NUM_THREADS has it).
  subroutine kadam_kokkos_initialize(stat, errmsg, threads)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    integer, intent(in), optional :: threads
    type(c_error) :: error
    integer(c_int) :: count
    count = 0
    if (present(threads)) count = int(threads, c_int)
    call report(c_kokkos_initialize(count, error), error, stat, errmsg)
  end subroutine

  !> Before MPI_Finalize.
  subroutine kadam_kokkos_finalize(stat, errmsg)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_kokkos_finalize(error), error, stat, errmsg)
  end subroutine

  ! ---- setup ------------------------------------------------------------------------------------------------

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

  !> The number that was written: 0.001, not the single precision number beside it.
  subroutine set_real32(this, option, value)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: option
    real(real32), intent(in) :: value
    character(len=24) :: digits
    real(real64) :: as_written
    write (digits, '(es14.6)') value
    read (digits, *) as_written
    call this%set_real64(option, as_written)
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

  !> Tensors whose names fit a pattern (* stands for any characters) have another learning rate or weight decay,
  !> or are exchanged exactly.
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

  subroutine setup_ranks_per_node(this, ranks)
    class(kadam_setup), intent(inout) :: this
    integer, intent(in) :: ranks
    call c_setup_ranks_per_node(this%handle, int(ranks, c_int))
  end subroutine

  subroutine setup_gpu_aware(this, word)
    class(kadam_setup), intent(inout) :: this
    character(len=*), intent(in) :: word
    call c_setup_gpu_aware(this%handle, c_text(word))
  end subroutine

  subroutine setup_use_device_memory(this)
    class(kadam_setup), intent(inout) :: this
    call c_setup_memory(this%handle, c_memory_device)
  end subroutine

  ! ---- optimizer --------------------------------------------------------------------------------------------

  !> Collective.
  subroutine optimizer_create(this, setup, comm, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    class(kadam_setup), intent(in) :: setup
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    type(kadam_statistics) :: figures
    integer :: ignored
    call report(c_create_fortran(setup%handle, int(comm%MPI_VAL, c_int), this%handle, error), error, stat, errmsg)
    if (stat /= kadam_success) return
    call this%statistics(figures, ignored)
    this%elements = figures%elements
  end subroutine

  !> Collective.
  subroutine optimizer_destroy(this, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_destroy(this%handle, error), error, stat, errmsg)
  end subroutine

  subroutine step_real32(this, x, gradient, stat, errmsg, result)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    real(real32), intent(in), contiguous, target :: gradient(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(kadam_step_result), intent(out), optional :: result
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    if (.not. fits(this, 'gradient', size(gradient, kind=int64), stat, errmsg)) return
    call this%step_device(c_loc(x), c_loc(gradient), stat, errmsg, result)
  end subroutine

  subroutine step_int16(this, x, gradient, stat, errmsg, result)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    integer(int16), intent(in), contiguous, target :: gradient(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(kadam_step_result), intent(out), optional :: result
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    if (.not. fits(this, 'gradient', size(gradient, kind=int64), stat, errmsg)) return
    call this%step_device(c_loc(x), c_loc(gradient), stat, errmsg, result)
  end subroutine

  subroutine step_device(this, x, gradient, stat, errmsg, result)
    class(kadam_optimizer), intent(inout) :: this
    type(c_ptr), intent(in) :: x, gradient
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(kadam_step_result), intent(out), optional :: result
    type(c_error) :: error
    type(c_step_result) :: done
    call report(c_step(this%handle, x, gradient, done, error), error, stat, errmsg)
    if (stat /= kadam_success .or. .not. present(result)) return
    result%step = done%step
    result%phase = text_at(done%phase)
    result%learning_rate = done%learning_rate
    result%gradient_norm = done%gradient_norm
    result%gradient_scale = done%gradient_scale
    result%skipped = done%skipped /= 0
    result%synchronised = done%synchronised /= 0
    result%raised = done%raised
  end subroutine

  !> Elements first to last (as Fortran counts) of the next gradient are final.
  subroutine optimizer_gradient_ready(this, gradient, first, last, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(in), target :: gradient(:)
    integer(int64), intent(in) :: first, last
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    if (.not. fits(this, 'gradient', size(gradient, kind=int64), stat, errmsg)) return
    ! Of an array that is not contiguous a call would get a copy, which is gone when it returns.
    if (.not. is_contiguous(gradient)) then
      call refuse('the gradient of gradient_ready() has to be contiguous', stat, errmsg)
      return
    end if
    call report(c_gradient_ready(this%handle, c_loc(gradient(lbound(gradient, 1))), first - 1, last, error), &
      error, stat, errmsg)
  end subroutine

  subroutine optimizer_progress(this, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_progress(this%handle, error), error, stat, errmsg)
  end subroutine

  subroutine optimizer_raise(this, bits, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer(int32), intent(in) :: bits
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_raise(this%handle, bits, error), error, stat, errmsg)
  end subroutine

  subroutine optimizer_flush(this, x, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    call report(c_flush(this%handle, c_loc(x), error), error, stat, errmsg)
  end subroutine

  subroutine optimizer_consensus(this, x, consensus, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(in), contiguous, target :: x(:)
    real(real32), intent(inout), contiguous, target :: consensus(:)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    if (.not. fits(this, 'consensus', size(consensus, kind=int64), stat, errmsg)) return
    call report(c_consensus(this%handle, c_loc(x), c_loc(consensus), error), error, stat, errmsg)
  end subroutine

  subroutine optimizer_wait(this, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_wait(this%handle, error), error, stat, errmsg)
  end subroutine

  subroutine optimizer_set_stream(this, stream, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    type(c_ptr), intent(in) :: stream
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_set_stream(this%handle, stream, error), error, stat, errmsg)
  end subroutine

  !> model_format: kadam_bfloat16 or kadam_float16. A null pointer (pointer is not associated): nowhere.
  subroutine optimizer_set_model(this, model, model_format, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    integer(int16), pointer, contiguous, intent(in) :: model(:)
    integer, intent(in) :: model_format
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    type(c_ptr) :: place
    place = c_null_ptr
    if (associated(model)) then
      if (.not. fits(this, 'model', size(model, kind=int64), stat, errmsg)) return
      place = c_loc(model)
    end if
    call report(c_set_model(this%handle, place, int(model_format, c_int), error), error, stat, errmsg)
  end subroutine

  ! ---- checkpoints ------------------------------------------------------------------------------------------

  !> Collective. keep: how many checkpoints stay (default 2; 0: all). words: of the program, to go on with.
  subroutine optimizer_save(this, x, folder, stat, errmsg, keep, words)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(in), contiguous, target :: x(:)
    character(len=*), intent(in) :: folder
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    integer, intent(in), optional :: keep
    character(len=*), intent(in), optional :: words
    type(c_error) :: error
    integer(c_int) :: count
    character(len=:), allocatable :: text
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    count = 2
    if (present(keep)) count = int(keep, c_int)
    text = ''
    if (present(words)) text = words
    call report(c_save(this%handle, c_loc(x), c_text(folder), count, c_text(text), error), error, stat, errmsg)
  end subroutine

  !> Collective. From the checkpoint of this path.
  subroutine optimizer_load(this, x, checkpoint, stat, errmsg, step)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    character(len=*), intent(in) :: checkpoint
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    integer(int64), intent(out), optional :: step
    type(c_error) :: error
    integer(c_int64_t) :: taken
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    call report(c_load(this%handle, c_loc(x), c_text(checkpoint), taken, error), error, stat, errmsg)
    if (stat == kadam_success .and. present(step)) step = taken
  end subroutine

  !> Collective. From the newest whole checkpoint in a folder; stat is kadam_no_checkpoint if there is none at all.
  subroutine optimizer_load_newest(this, x, folder, stat, errmsg, step)
    class(kadam_optimizer), intent(inout) :: this
    real(real32), intent(inout), contiguous, target :: x(:)
    character(len=*), intent(in) :: folder
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    integer(int64), intent(out), optional :: step
    type(c_error) :: error
    integer(c_int64_t) :: taken
    if (.not. fits(this, 'x', size(x, kind=int64), stat, errmsg)) return
    call report(c_load_newest(this%handle, c_loc(x), c_text(folder), taken, error), error, stat, errmsg)
    if (stat == kadam_success .and. present(step)) step = taken
  end subroutine

  function optimizer_words(this) result(text)
    class(kadam_optimizer), intent(in) :: this
    character(len=:), allocatable :: text
    text = text_at(c_words(this%handle))
  end function

  ! ---- figures ----------------------------------------------------------------------------------------------

  subroutine optimizer_statistics(this, statistics, stat, errmsg)
    class(kadam_optimizer), intent(in) :: this
    type(kadam_statistics), intent(out) :: statistics
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_get_statistics(this%handle, statistics, error), error, stat, errmsg)
  end subroutine

  subroutine optimizer_measure_phases(this, on, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    logical, intent(in) :: on
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_measure_phases(this%handle, merge(1_c_int, 0_c_int, on), error), error, stat, errmsg)
  end subroutine

  !> Collective. A NaN where there is no such figure.
  subroutine optimizer_health(this, health, stat, errmsg)
    class(kadam_optimizer), intent(inout) :: this
    type(kadam_health), intent(out) :: health
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_get_health(this%handle, health, error), error, stat, errmsg)
  end subroutine

  ! ---- inside -----------------------------------------------------------------------------------------------

  subroutine report(status, error, stat, errmsg)
    integer(c_int), intent(in) :: status
    type(c_error), intent(in) :: error
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    stat = int(status)
    if (present(errmsg)) errmsg = text_of(error)
  end subroutine

  subroutine refuse(sentence, stat, errmsg)
    character(len=*), intent(in) :: sentence
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    stat = kadam_invalid_argument
    if (present(errmsg)) errmsg = sentence
  end subroutine

  !> Whether an array has as many elements as the optimizer has parameters.
  logical function fits(this, name, elements, stat, errmsg)
    class(kadam_optimizer), intent(in) :: this
    character(len=*), intent(in) :: name
    integer(int64), intent(in) :: elements
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    character(len=160) :: sentence
    stat = kadam_success
    ! Without an optimizer the call itself says so.
    fits = elements == this%elements .or. .not. c_associated(this%handle)
    if (fits) return
    write (sentence, '(3a, i0, a, i0)') 'kadam_optimizer: ', name, ' has ', elements, &
      ' elements; the tensors of the setup have ', this%elements
    call refuse(trim(sentence), stat, errmsg)
  end function
end module kadam
