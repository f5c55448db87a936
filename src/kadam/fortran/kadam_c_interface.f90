! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> The part of kadam.h that the other modules use. Programs use the module kadam.
module kadam_c_interface
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real32, real64
  implicit none
  public

  integer, parameter :: kadam_success = 0, kadam_invalid_argument = 1, kadam_not_ready = 2
  integer, parameter :: kadam_mpi_failure = 3, kadam_peer_failure = 4, kadam_failure = 5
  integer, parameter :: kadam_no_checkpoint = 6, kadam_out_of_memory = 7, kadam_not_built = 8
  integer, parameter :: kadam_no_snapshot = 9
  integer, parameter :: kadam_bfloat16 = 1, kadam_float16 = 2
  integer(c_int), parameter :: c_float32 = 0
  integer(c_int), parameter :: c_memory_device = 1
  integer, parameter :: error_length = 1024

  type, bind(c) :: c_error
    integer(c_int) :: status
    character(kind=c_char) :: text(error_length)
  end type

  type, bind(c) :: c_step_result
    integer(c_int64_t) :: step
    type(c_ptr) :: phase
    real(c_double) :: learning_rate, gradient_norm, gradient_scale
    integer(c_int32_t) :: skipped, synchronised, raised
    integer(c_int64_t) :: skipped_alone
  end type

  type, bind(c) :: kadam_statistics
    integer(c_int64_t) :: elements, steps_taken, steps_skipped
    integer(c_int64_t) :: state_bytes, workspace_bytes
    integer(c_int64_t) :: sent_bytes, sent_control_bytes, sent_dense_bytes, sent_compressed_bytes
    integer(c_int64_t) :: sent_sparse_bytes, sent_background_bytes, sent_node_bytes
    real(c_double) :: check_seconds, encode_seconds, exchange_seconds, decode_seconds
  end type

  type, bind(c) :: kadam_health
    real(c_double) :: error_ratio, variance_drift, variance_spread, support_overlap
    real(c_double) :: background_hidden, inactive_fraction, largest_step
    integer(c_int64_t) :: largest_step_tensor !< counted from 0 in the order of the setup; -1: no such figure
  end type

  !> The ranks and the step of an optimizer after go_on(), admit() or join().
  type, bind(c) :: kadam_survivors
    integer(c_int64_t) :: step !< number of steps that the optimizer has taken
    integer(c_int32_t) :: rank !< number of this rank now, from 0
    integer(c_int32_t) :: ranks !< how many ranks there are now
    integer(c_int32_t) :: lost !< how many of the ranks that took the snapshot are gone
  end type

  interface
    function c_version() bind(c, name='kadam_version') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_execution_space() bind(c, name='kadam_execution_space') result(text)
      import :: c_ptr
      type(c_ptr) :: text
    end function
    function c_kokkos_initialize(threads, error) bind(c, name='kadam_kokkos_initialize') result(status)
      import :: c_int, c_error
      integer(c_int), value :: threads
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_kokkos_finalize(error) bind(c, name='kadam_kokkos_finalize') result(status)
      import :: c_int, c_error
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function

    function c_setup_create(optimizer) bind(c, name='kadam_setup_create') result(setup)
      import :: c_char, c_ptr
      character(kind=c_char), intent(in) :: optimizer(*)
      type(c_ptr) :: setup
    end function
    subroutine c_setup_destroy(setup) bind(c, name='kadam_setup_destroy')
      import :: c_ptr
      type(c_ptr), value :: setup
    end subroutine
    subroutine c_setup_real(setup, option, value) bind(c, name='kadam_setup_real')
      import :: c_char, c_double, c_ptr
      type(c_ptr), value :: setup
      character(kind=c_char), intent(in) :: option(*)
      real(c_double), value :: value
    end subroutine
    subroutine c_setup_integer(setup, option, value) bind(c, name='kadam_setup_integer')
      import :: c_char, c_int64_t, c_ptr
      type(c_ptr), value :: setup
      character(kind=c_char), intent(in) :: option(*)
      integer(c_int64_t), value :: value
    end subroutine
    subroutine c_setup_flag(setup, option, value) bind(c, name='kadam_setup_flag')
      import :: c_char, c_int, c_ptr
      type(c_ptr), value :: setup
      character(kind=c_char), intent(in) :: option(*)
      integer(c_int), value :: value
    end subroutine
    subroutine c_setup_text(setup, option, value) bind(c, name='kadam_setup_text')
      import :: c_char, c_ptr
      type(c_ptr), value :: setup
      character(kind=c_char), intent(in) :: option(*), value(*)
    end subroutine
    subroutine c_setup_reals(setup, option, count, values) bind(c, name='kadam_setup_reals')
      import :: c_char, c_double, c_int, c_ptr
      type(c_ptr), value :: setup
      character(kind=c_char), intent(in) :: option(*)
      integer(c_int), value :: count
      real(c_double), intent(in) :: values(*)
    end subroutine
    subroutine c_setup_tensor(setup, name, elements) bind(c, name='kadam_setup_tensor')
      import :: c_char, c_int64_t, c_ptr
      type(c_ptr), value :: setup
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int64_t), value :: elements
    end subroutine
    subroutine c_setup_shaped_tensor(setup, name, dimensions, shape, spectral) &
        bind(c, name='kadam_setup_shaped_tensor')
      import :: c_char, c_int, c_int64_t, c_ptr
      type(c_ptr), value :: setup
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), value :: dimensions, spectral
      integer(c_int64_t), intent(in) :: shape(*)
    end subroutine
    subroutine c_setup_group(setup, tensors, lr_scale, weight_decay, dense) bind(c, name='kadam_setup_group')
      import :: c_char, c_double, c_int, c_ptr
      type(c_ptr), value :: setup
      character(kind=c_char), intent(in) :: tensors(*)
      real(c_double), value :: lr_scale, weight_decay
      integer(c_int), value :: dense
    end subroutine
    subroutine c_setup_memory(setup, memory) bind(c, name='kadam_setup_memory')
      import :: c_int, c_ptr
      type(c_ptr), value :: setup
      integer(c_int), value :: memory
    end subroutine
    subroutine c_setup_ranks_per_node(setup, ranks) bind(c, name='kadam_setup_ranks_per_node')
      import :: c_int, c_ptr
      type(c_ptr), value :: setup
      integer(c_int), value :: ranks
    end subroutine
    subroutine c_setup_gpu_aware(setup, word) bind(c, name='kadam_setup_gpu_aware')
      import :: c_char, c_ptr
      type(c_ptr), value :: setup
      character(kind=c_char), intent(in) :: word(*)
    end subroutine
    subroutine c_setup_wire(setup, word) bind(c, name='kadam_setup_wire')
      import :: c_char, c_ptr
      type(c_ptr), value :: setup
      character(kind=c_char), intent(in) :: word(*)
    end subroutine
    subroutine c_setup_piece_bytes(setup, bytes) bind(c, name='kadam_setup_piece_bytes')
      import :: c_int64_t, c_ptr
      type(c_ptr), value :: setup
      integer(c_int64_t), value :: bytes
    end subroutine
    subroutine c_setup_timeout_seconds(setup, seconds) bind(c, name='kadam_setup_timeout_seconds')
      import :: c_double, c_ptr
      type(c_ptr), value :: setup
      real(c_double), value :: seconds
    end subroutine
    subroutine c_setup_allow_alone(setup, value) bind(c, name='kadam_setup_allow_alone')
      import :: c_int, c_ptr
      type(c_ptr), value :: setup
      integer(c_int), value :: value
    end subroutine

    function c_create_fortran(setup, communicator, optimizer, error) bind(c, name='kadam_create_fortran') &
      result(status)
      import :: c_int, c_ptr, c_error
      type(c_ptr), value :: setup
      integer(c_int), value :: communicator
      type(c_ptr), intent(inout) :: optimizer
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_destroy(optimizer, error) bind(c, name='kadam_destroy') result(status)
      import :: c_int, c_ptr, c_error
      type(c_ptr), intent(inout) :: optimizer
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_set_stream(optimizer, stream, error) bind(c, name='kadam_set_stream') result(status)
      import :: c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer, stream
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_gradient_format(optimizer) bind(c, name='kadam_gradient_format') result(gradient_format)
      import :: c_int, c_ptr
      type(c_ptr), value :: optimizer
      integer(c_int) :: gradient_format
    end function
    function c_set_model(optimizer, model, model_format, error) bind(c, name='kadam_set_model') result(status)
      import :: c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer, model
      integer(c_int), value :: model_format
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_step(optimizer, parameters, gradient, result, error) bind(c, name='kadam_step') result(status)
      import :: c_int, c_ptr, c_error, c_step_result
      type(c_ptr), value :: optimizer, parameters, gradient
      type(c_step_result), intent(out) :: result
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_set(optimizer, option, value, error) bind(c, name='kadam_set') result(status)
      import :: c_char, c_double, c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer
      character(kind=c_char), intent(in) :: option(*)
      real(c_double), value :: value
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_set_group(optimizer, tensors, lr_scale, weight_decay, error) bind(c, name='kadam_set_group') &
      result(status)
      import :: c_char, c_double, c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer
      character(kind=c_char), intent(in) :: tensors(*)
      real(c_double), value :: lr_scale, weight_decay
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_gradient_ready(optimizer, gradient, begin, end, error) bind(c, name='kadam_gradient_ready') &
      result(status)
      import :: c_int, c_int64_t, c_ptr, c_error
      type(c_ptr), value :: optimizer, gradient
      integer(c_int64_t), value :: begin, end
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_give_up_step(optimizer, error) bind(c, name='kadam_give_up_step') result(status)
      import :: c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_progress(optimizer, error) bind(c, name='kadam_progress') result(status)
      import :: c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_raise(optimizer, bits, error) bind(c, name='kadam_raise') result(status)
      import :: c_int, c_int32_t, c_ptr, c_error
      type(c_ptr), value :: optimizer
      integer(c_int32_t), value :: bits
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_flush(optimizer, parameters, error) bind(c, name='kadam_flush') result(status)
      import :: c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer, parameters
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_consensus(optimizer, parameters, out, error) bind(c, name='kadam_consensus') result(status)
      import :: c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer, parameters, out
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_wait(optimizer, error) bind(c, name='kadam_wait') result(status)
      import :: c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function

    function c_save(optimizer, parameters, folder, keep, words, error) bind(c, name='kadam_save') result(status)
      import :: c_char, c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer, parameters
      character(kind=c_char), intent(in) :: folder(*), words(*)
      integer(c_int), value :: keep
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_load(optimizer, parameters, checkpoint, step, error) bind(c, name='kadam_load') result(status)
      import :: c_char, c_int, c_int64_t, c_ptr, c_error
      type(c_ptr), value :: optimizer, parameters
      character(kind=c_char), intent(in) :: checkpoint(*)
      integer(c_int64_t), intent(out) :: step
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_load_newest(optimizer, parameters, folder, step, error) bind(c, name='kadam_load_newest') &
      result(status)
      import :: c_char, c_int, c_int64_t, c_ptr, c_error
      type(c_ptr), value :: optimizer, parameters
      character(kind=c_char), intent(in) :: folder(*)
      integer(c_int64_t), intent(out) :: step
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_keep_snapshots(optimizer, parameters, every, spread, words, error) &
      bind(c, name='kadam_keep_snapshots') result(status)
      import :: c_char, c_int, c_int64_t, c_ptr, c_error
      type(c_ptr), value :: optimizer, parameters
      integer(c_int64_t), value :: every, spread
      character(kind=c_char), intent(in) :: words(*)
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_after_step(optimizer, parameters, words, error) bind(c, name='kadam_after_step') result(status)
      import :: c_char, c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer, parameters
      character(kind=c_char), intent(in) :: words(*)
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_go_on(optimizer, parameters, survivors, error) bind(c, name='kadam_go_on') result(status)
      import :: c_int, c_ptr, c_error, kadam_survivors
      type(c_ptr), value :: optimizer, parameters
      type(kadam_survivors), intent(inout) :: survivors
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_door(optimizer) bind(c, name='kadam_door') result(text)
      import :: c_ptr
      type(c_ptr), value :: optimizer
      type(c_ptr) :: text
    end function
    function c_has_newcomers(optimizer) bind(c, name='kadam_has_newcomers') result(has)
      import :: c_int, c_ptr
      type(c_ptr), value :: optimizer
      integer(c_int) :: has
    end function
    function c_admit(optimizer, parameters, words, ranks, error) bind(c, name='kadam_admit') result(status)
      import :: c_char, c_int, c_ptr, c_error, kadam_survivors
      type(c_ptr), value :: optimizer, parameters
      character(kind=c_char), intent(in) :: words(*)
      type(kadam_survivors), intent(out) :: ranks
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_join(optimizer, parameters, doors, host, every, spread, ranks, error) &
      bind(c, name='kadam_join') result(status)
      import :: c_char, c_int, c_int64_t, c_ptr, c_error, kadam_survivors
      type(c_ptr), value :: optimizer, parameters
      character(kind=c_char), intent(in) :: doors(*), host(*)
      integer(c_int64_t), value :: every, spread
      type(kadam_survivors), intent(out) :: ranks
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_words(optimizer) bind(c, name='kadam_words') result(text)
      import :: c_ptr
      type(c_ptr), value :: optimizer
      type(c_ptr) :: text
    end function

    function c_get_statistics(optimizer, statistics, error) bind(c, name='kadam_get_statistics') result(status)
      import :: c_int, c_ptr, c_error, kadam_statistics
      type(c_ptr), value :: optimizer
      type(kadam_statistics), intent(out) :: statistics
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_measure_phases(optimizer, on, error) bind(c, name='kadam_measure_phases') result(status)
      import :: c_int, c_ptr, c_error
      type(c_ptr), value :: optimizer
      integer(c_int), value :: on
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_get_health(optimizer, health, error) bind(c, name='kadam_get_health') result(status)
      import :: c_int, c_ptr, c_error, kadam_health
      type(c_ptr), value :: optimizer
      type(kadam_health), intent(out) :: health
      type(c_error), intent(out) :: error
      integer(c_int) :: status
    end function
    function c_strlen(text) bind(c, name='strlen') result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
  end interface

contains

  !> The text as a string of C: without the blanks at its end, with a zero behind it.
  function c_text(text) result(characters)
    character(len=*), intent(in) :: text
    character(kind=c_char, len=:), allocatable :: characters
    characters = trim(text)//c_null_char
  end function

  !> The decimal number of seven digits that a single precision number stands for: 0.001, and not 0.001 in single
  !> precision, which differs from it.
  function as_written(value) result(number)
    real(real32), intent(in) :: value
    real(real64) :: number
    character(len=24) :: digits
    write (digits, '(es14.6)') value
    read (digits, *) number
  end function

  !> The string of C at this address; '' for a null pointer.
  function text_at(place) result(text)
    type(c_ptr), intent(in) :: place
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i
    if (.not. c_associated(place)) then
      text = ''
      return
    end if
    call c_f_pointer(place, characters, [c_strlen(place)])
    allocate (character(len=size(characters)) :: text)
    do i = 1, size(characters)
      text(i:i) = characters(i)
    end do
  end function

  !> The text of an error.
  function text_of(error) result(text)
    type(c_error), intent(in) :: error
    character(len=:), allocatable :: text
    integer :: length, i
    length = 0
    do while (length < error_length)
      if (error%text(length + 1) == c_null_char) exit
      length = length + 1
    end do
    allocate (character(len=length) :: text)
    do i = 1, length
      text(i:i) = error%text(i)
    end do
  end function

  !> Sets stat and errmsg to what a call of C has returned.
  subroutine report(status, error, stat, errmsg)
    integer(c_int), intent(in) :: status
    type(c_error), intent(in) :: error
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    stat = int(status)
    if (present(errmsg)) errmsg = text_of(error)
  end subroutine

  !> Sets stat to kadam_invalid_argument and errmsg to this sentence, for arguments refused before C is called.
  subroutine refuse(sentence, stat, errmsg)
    character(len=*), intent(in) :: sentence
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    stat = kadam_invalid_argument
    if (present(errmsg)) errmsg = sentence
  end subroutine
end module kadam_c_interface
