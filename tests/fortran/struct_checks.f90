! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> The types that Fortran shares with C have the fields of kadam.h, in its order: C writes 1, 2, 3 ... by name.
module struct_checks
  use, intrinsic :: iso_c_binding
  use kadam_c_interface
  implicit none
  private

  public :: mistake_in_structs

  interface
    subroutine fill_statistics(of) bind(c, name='test_fill_statistics')
      import :: kadam_statistics
      type(kadam_statistics), intent(out) :: of
    end subroutine
    subroutine fill_health(of) bind(c, name='test_fill_health')
      import :: kadam_health
      type(kadam_health), intent(out) :: of
    end subroutine
    subroutine fill_survivors(of) bind(c, name='test_fill_survivors')
      import :: kadam_survivors
      type(kadam_survivors), intent(out) :: of
    end subroutine
    subroutine fill_result(of) bind(c, name='test_fill_result')
      import :: c_step_result
      type(c_step_result), intent(out) :: of
    end subroutine
    subroutine fill_error(of) bind(c, name='test_fill_error')
      import :: c_error
      type(c_error), intent(out) :: of
    end subroutine
    function size_of(number) bind(c, name='test_size_of') result(bytes)
      import :: c_int, c_size_t
      integer(c_int), value :: number
      integer(c_size_t) :: bytes
    end function
    function constant(number) bind(c, name='test_constant') result(value)
      import :: c_int
      integer(c_int), value :: number
      integer(c_int) :: value
    end function
  end interface

contains

  !> What is not as in C, in words; nothing if all is.
  function mistake_in_structs() result(words)
    character(len=:), allocatable :: words, text
    type(kadam_statistics) :: statistics
    type(kadam_health) :: health
    type(kadam_survivors) :: survivors
    type(c_step_result) :: done
    type(c_error) :: error
    integer :: k, in_c
    integer, parameter :: constants(14) = [kadam_success, kadam_invalid_argument, kadam_not_ready, &
      kadam_mpi_failure, kadam_peer_failure, kadam_failure, kadam_no_checkpoint, kadam_out_of_memory, &
      kadam_not_built, error_length, int(c_memory_device), kadam_bfloat16, kadam_float16, kadam_no_snapshot]
    words = ''
    if (c_sizeof(statistics) /= size_of(1)) words = words//' size of kadam_statistics;'
    if (c_sizeof(health) /= size_of(2)) words = words//' size of kadam_health;'
    if (c_sizeof(done) /= size_of(3)) words = words//' size of the result of a step;'
    if (c_sizeof(error) /= size_of(4)) words = words//' size of kadam_error;'
    if (c_sizeof(survivors) /= size_of(5)) words = words//' size of kadam_survivors;'
    if (words /= '') return ! whoever is too small must not be filled

    call fill_statistics(statistics)
    if (any([statistics%elements, statistics%steps_taken, statistics%steps_skipped, statistics%state_bytes, &
      statistics%workspace_bytes, statistics%sent_bytes, statistics%sent_control_bytes, &
      statistics%sent_dense_bytes, statistics%sent_compressed_bytes, statistics%sent_sparse_bytes, &
      statistics%sent_background_bytes, statistics%sent_node_bytes] /= [(int(k, c_int64_t), k=1, 12)])) then
      words = words//' numbers of kadam_statistics;'
    end if
    if (any(nint([statistics%check_seconds, statistics%encode_seconds, statistics%exchange_seconds, &
      statistics%decode_seconds]) /= [(k, k=13, 16)])) words = words//' seconds of kadam_statistics;'
    call fill_health(health)
    if (any(nint([health%error_ratio, health%variance_drift, health%variance_spread, health%support_overlap, &
      health%background_hidden, health%inactive_fraction, health%largest_step]) /= [(k, k=1, 7)])) &
      words = words//' kadam_health;'
    if (health%largest_step_tensor /= 8) words = words//' largest_step_tensor;'
    call fill_survivors(survivors)
    if (survivors%step /= 1 .or. survivors%rank /= 2 .or. survivors%ranks /= 3 .or. survivors%lost /= 4) &
      words = words//' kadam_survivors;'
    call fill_result(done)
    text = text_at(done%phase)
    if (done%step /= 1 .or. text /= 'two' .or. nint(done%learning_rate) /= 3 .or. &
      nint(done%gradient_norm) /= 4 .or. nint(done%gradient_scale) /= 5 .or. done%skipped /= 6 .or. &
      done%synchronised /= 7 .or. done%raised /= 8 .or. done%skipped_alone /= 9) words = words//' the result of a step;'
    call fill_error(error)
    text = text_of(error)
    if (error%status /= kadam_no_checkpoint .or. text /= repeat('x', error_length - 1)) then
      words = words//' kadam_error;'
    end if
    do k = 1, size(constants)
      in_c = constant(int(k, c_int))
      if (constants(k) /= in_c) words = words//' a constant of kadam.h;'
    end do
  end function
end module struct_checks
