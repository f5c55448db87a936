! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> The Fortran module: every procedure once, its mistakes, and Adam's first steps worked by hand.
program module_test
  use, intrinsic :: iso_c_binding, only: c_loc, c_null_ptr
  use, intrinsic :: iso_fortran_env, only: int16, int32, int64, real32, real64, error_unit
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan, ieee_quiet_nan, ieee_value
  use mpi_f08
  use kadam
  use struct_checks, only: mistake_in_structs
  implicit none

  integer, parameter :: d = 1024
  integer :: rank, ranks, stat, failed, all_failed
  character(len=512) :: message

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  failed = 0

  message = mistake_in_structs()
  call expect(message == '', 'not as in C:'//message)
  call needs_kokkos()
  call kadam_kokkos_initialize(stat, message, threads=1)
  call expect(stat == kadam_success, 'Kokkos: '//message)
  call expect(len(kadam_version()) >= 5, 'version')
  call expect(len(kadam_execution_space()) >= 4, 'execution space')

  call steps_by_hand()
  call steps_skipped_alone()
  call figures_in_their_fields()
  call groups_with_and_without_decay()
  call options_of_all_types()
  call options_set_while_training()
  call mistakes_in_words()
  call a_short_gradient_of_one_rank()
  call half_gradients_and_model()
  call gradients_of_another_kind()
  call local_steps_and_consensus()
  call device_pointers_and_announcements()
  call saved_and_restored()
  call survivors_go_on()
  call nobody_goes_on_without_snapshots()
  call newcomers_join()

  call kadam_kokkos_finalize(stat, message)
  call expect(stat == kadam_success, 'Kokkos ends: '//message)
  call MPI_Allreduce(failed, all_failed, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (all_failed > 0) error stop 1

contains

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(len=*), intent(in) :: what
    if (holds) return
    failed = failed + 1
    write (error_unit, '(a, i0, 2a)') 'rank ', rank, ': ', trim(what)
  end subroutine

  subroutine expect_words(words, what)
    character(len=*), intent(in) :: words, what
    call expect(stat == kadam_invalid_argument, what//': another status')
    call expect(index(message, words) > 0, what//': '//message)
  end subroutine

  !> Rank 1 gives its optimizer back in the middle, which ends its connections; the others go back to step 2.
  subroutine survivors_go_on()
    type(kadam_optimizer) :: optimizer
    type(kadam_setup) :: setup
    type(kadam_survivors) :: left
    real(real32) :: x(d)
    integer :: step
    if (ranks == 1) return
    call setup%create('adam')
    call setup%set('lr', 0.01)
    call setup%tensor('x', d)
    call setup%wire('tcp')
    call setup%timeout_seconds(30.0_real64)
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call expect(stat == kadam_success, 'over TCP: '//message)
    call setup%destroy()
    x = 1
    call optimizer%keep_snapshots(x, 2, stat, message, spread=1, words='start')
    call expect(stat == kadam_success, 'snapshots: '//message)
    do step = 1, 3
      call optimizer%step(x, ones(rank), stat, message)
      call optimizer%after_step(x, stat, message, words='later')
      call expect(stat == kadam_success, 'after a step: '//message)
    end do
    if (rank == 1) then
      call destroy(optimizer)
    else
      call optimizer%step(x, ones(rank), stat, message)
      if (stat == kadam_success) call optimizer%step(x, ones(rank), stat, message)
      call expect(stat == kadam_peer_failure, 'a rank has failed: '//message)
      call optimizer%go_on(x, stat, message, left)
      call expect(stat == kadam_success, 'on they go: '//message)
      call expect(left%step == 2 .and. left%ranks == ranks - 1 .and. left%lost == 1, 'who is left')
      call expect(left%rank == max(rank - 1, 0), 'the rank now')
      call expect(optimizer%words() == 'later', 'words of the snapshot')
      call expect(all(abs(x - 0.98) < 1e-6), 'x is that of the snapshot')
      call optimizer%step(x, ones(left%rank), stat, message)
      call expect(stat == kadam_success .and. all(abs(x - 0.97) < 1e-3), 'the next step: '//message)
      call destroy(optimizer)
    end if
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  !> The last rank is one that the others know nothing of.
  subroutine newcomers_join()
    type(kadam_optimizer) :: optimizer
    type(kadam_setup) :: setup
    type(kadam_survivors) :: all
    type(MPI_Comm) :: mine
    real(real32) :: x(d)
    character(len=64) :: door
    logical :: comes
    integer :: k
    if (ranks == 1) return
    comes = rank == ranks - 1
    call MPI_Comm_split(MPI_COMM_WORLD, merge(1, 0, comes), rank, mine)
    call setup%create('adam')
    call setup%set('lr', 0.01)
    call setup%tensor('x', d)
    call setup%wire('tcp')
    call setup%allow_alone(.true.)
    call setup%timeout_seconds(30.0_real64)
    call optimizer%create(setup, mine, stat, message)
    call expect(stat == kadam_success, 'before others join: '//message)
    call setup%destroy()
    call MPI_Comm_free(mine)
    door = optimizer%door()
    call MPI_Bcast(door, len(door), MPI_CHARACTER, 0, MPI_COMM_WORLD)
    x = 1
    if (comes) then
      x = 1000
      call optimizer%join(x, trim(door), 2, stat, message, spread=1, ranks=all)
      call expect(stat == kadam_success, 'it joins: '//message)
      call expect(optimizer%words() == 'taken in', 'words of those who take it in')
    else
      call expect(.not. optimizer%has_newcomers(), 'no snapshot is kept yet')
      call optimizer%keep_snapshots(x, 2, stat, message)
      all%ranks = 0
      do while (all%ranks < ranks)
        call optimizer%step(x, ones(rank), stat, message)
        call optimizer%after_step(x, stat, message)
        if (stat /= kadam_success) exit
        if (optimizer%has_newcomers()) call optimizer%admit(x, stat, message, words='taken in', ranks=all)
      end do
      call expect(stat == kadam_success, 'they take it in: '//message)
    end if
    call expect(all%ranks == ranks .and. all%rank == rank .and. all%lost == 0, 'who is there')
    do k = 1, 3
      call optimizer%step(x, ones(rank), stat, message)
      call expect(stat == kadam_success .and. maxval(abs(x)) < 1000, 'a step of all: '//message)
    end do
    call destroy(optimizer)
  end subroutine

  function ones(of) result(gradient)
    integer, intent(in) :: of
    real(real32) :: gradient(d)
    gradient = real(of + 1, real32)
  end function

  pure logical function same_bits(a, b)
    real(real32), intent(in) :: a(:), b(:)
    same_bits = all(transfer(a, [0_int32]) == transfer(b, [0_int32]))
  end function

  subroutine make(optimizer, name, gradients)
    type(kadam_optimizer), intent(inout) :: optimizer
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: gradients
    type(kadam_setup) :: setup
    call setup%create(name)
    call setup%set('lr', 0.01)
    if (present(gradients)) call setup%set('gradients', gradients)
    if (name == 'onebit_adam') call setup%set('warmup_steps', 3)
    if (name == 'zero_one_adam') call setup%set('variance_freeze_step', 3)
    if (name == 'local_adam') call setup%set('sync_interval', 2)
    call setup%tensor('weights', 900)
    call setup%tensor('bias', 124_int64)
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call expect(stat == kadam_success, name//' is made: '//message)
    call setup%destroy()
  end subroutine

  subroutine destroy(optimizer)
    type(kadam_optimizer), intent(inout) :: optimizer
    call optimizer%destroy(stat, message)
    call expect(stat == kadam_success, 'destroyed: '//message)
  end subroutine

  subroutine needs_kokkos()
    type(kadam_optimizer) :: optimizer
    type(kadam_setup) :: setup
    call setup%create('adam')
    call setup%tensor('x', d)
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call expect(stat == kadam_not_ready .and. index(message, 'kadam_kokkos_initialize') > 0, 'Kokkos: '//message)
    call setup%destroy()
  end subroutine

  !> The mean gradient of rank r with r + 1 is (n + 1)/2; the first two steps of Adam then have length lr.
  subroutine steps_by_hand()
    type(kadam_optimizer) :: optimizer
    type(kadam_step_result) :: result
    type(kadam_statistics) :: statistics
    real(real32) :: x(d), gradient(d)
    integer :: step
    call make(optimizer, 'adam')
    x = 1
    gradient = real(rank + 1, real32)
    if (rank == ranks - 1) call optimizer%raise(2_int32, stat, message)
    do step = 1, 2
      call optimizer%step(x, gradient, stat, message, result)
      call expect(stat == kadam_success, 'step: '//message)
      call expect(all(abs(x - (1 - 0.01*step)) < 1e-6), 'x after a step')
      call expect(result%step == step .and. result%phase == 'dense', 'what the step did: '//result%phase)
      call expect(abs(result%learning_rate - 0.01_real64) < 1e-15, 'lr is what was written')
      call expect(result%raised == merge(2, 0, step == 1), 'raised bits')
      call expect(result%synchronised .and. .not. result%skipped, 'flags')
    end do
    gradient(3) = ieee_value(gradient(3), ieee_quiet_nan)
    call optimizer%step(x, gradient, stat, message, result)
    call expect(stat == kadam_success .and. result%skipped .and. result%step == 2, 'a NaN is skipped')
    call optimizer%statistics(statistics, stat, message)
    call expect(statistics%elements == d .and. statistics%steps_taken == 2 .and. statistics%steps_skipped == 1, &
      'counts')
    call expect((statistics%sent_dense_bytes > 0) .eqv. (ranks > 1), 'bytes')
    call destroy(optimizer)
  end subroutine

  !> Rank 0 skips both steps before the first round.
  subroutine steps_skipped_alone()
    type(kadam_optimizer) :: optimizer
    type(kadam_step_result) :: result
    real(real32) :: x(d), gradient(d)
    integer :: step
    call make(optimizer, 'local_adam')
    x = 1
    do step = 1, 4
      gradient = 2
      if (rank == 0 .and. step <= 2) gradient(3) = ieee_value(gradient(3), ieee_quiet_nan)
      call optimizer%step(x, gradient, stat, message, result)
      call expect(stat == kadam_success .and. .not. result%skipped .and. result%step == step, 'a step alone: '//message)
      call expect(result%skipped_alone == merge(2, 0, step == 2), 'steps that ranks skipped alone')
    end do
    call destroy(optimizer)
  end subroutine

  !> 4 d/n times n - 1 bytes, there and back: what each of n = 1, 2, 4 ranks sends for a dense mean, in one level.
  integer(int64) function dense_mean_bytes()
    dense_mean_bytes = 8_int64*d*(ranks - 1)/ranks
  end function

  !> Three dense steps and a skipped one; then compressed ones, sparse ones, ones in nodes.
  subroutine figures_in_their_fields()
    type(kadam_optimizer) :: optimizer
    type(kadam_setup) :: setup
    type(kadam_step_result) :: result
    type(kadam_statistics) :: before, after, between
    type(kadam_health) :: health
    real(real32) :: x(d), gradient(d)
    integer :: step, i
    call make(optimizer, 'onebit_adam')
    call optimizer%statistics(before, stat, message)
    between = before
    call optimizer%measure_phases(.true., stat, message)
    x = 1
    do step = 1, 8
      gradient = [(sin(real(step + rank)*i), i=1, d)]
      gradient(1:256) = 0
      if (step == 3) gradient(7) = ieee_value(gradient(7), ieee_quiet_nan)
      call optimizer%step(x, gradient, stat, message, result)
      call optimizer%statistics(after, stat, message)
      if (step == 3) then
        call expect(result%skipped .and. after%check_seconds > 0, 'a skipped step is a check')
        call expect(after%encode_seconds + after%exchange_seconds + after%decode_seconds <= 0, 'and no more')
      end if
      if (step == 4) between = after
    end do
    call expect(between%sent_dense_bytes == 3*dense_mean_bytes(), 'dense bytes of the warm-up')
    call expect(between%sent_compressed_bytes == 0, 'no codes in the warm-up')
    call expect(after%sent_dense_bytes == between%sent_dense_bytes, 'nothing dense after it')
    call expect((after%sent_compressed_bytes > 0) .eqv. (ranks > 1), 'codes after it')
    call expect(after%sent_compressed_bytes < dense_mean_bytes() .or. ranks == 1, 'which are short')
    call expect(after%sent_control_bytes - before%sent_control_bytes == 8*16*(ranks - 1), 'control bytes')
    call expect(after%sent_sparse_bytes + after%sent_background_bytes + after%sent_node_bytes == 0, 'other bytes')
    call expect(after%sent_bytes == after%sent_control_bytes + after%sent_dense_bytes &
      + after%sent_compressed_bytes, 'the sum of all bytes')
    call expect(after%steps_taken == 7 .and. after%steps_skipped == 1 .and. after%elements == d, 'numbers of steps')
    call expect(after%encode_seconds > 0 .and. after%decode_seconds > 0, 'seconds')
    ! Moments are 8 bytes an element, and errors are state.
    call expect(after%state_bytes == 12*d + merge(4*d/ranks, 0, ranks > 1), 'bytes of the state')
    call expect(after%workspace_bytes /= after%state_bytes, 'bytes of the workspace')
    call optimizer%health(health, stat, message)
    call expect(.not. ieee_is_nan(health%variance_drift), 'there is a drift')
    call expect((health%error_ratio > 0) .eqv. (ranks > 1), 'errors where there are codes')
    call expect(ieee_is_nan(health%variance_spread) .and. ieee_is_nan(health%support_overlap) .and. &
      ieee_is_nan(health%background_hidden), 'what there is not')
    call expect(abs(health%inactive_fraction - 0.25_real64) < 1e-12, 'a quarter has no gradients')
    call expect(health%largest_step > 0 .and. health%largest_step_tensor >= 0, 'there is a largest step')
    call destroy(optimizer)

    ! All ranks send the same coordinates; and a mean travels in the background of every other step. Sums of v are
    ! as 1 : 4^(n - 1) when gradients are as 1 : 2^(n - 1); powers of 2 leave all else as it is.
    call setup%create('divisible_adam')
    call setup%set('lr', 0.01)
    call setup%set('background_steps', 2)
    call setup%set('progress', 'poll') ! a thread needs MPI_Init_thread
    call setup%set('variance_sync_interval', 0)
    call setup%tensor('x', d)
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call expect(stat == kadam_success, 'sparse: '//message)
    gradient = [(real(2**rank*i, real32), i=1, d)]
    do step = 1, 4
      call optimizer%step(x, gradient, stat, message)
    end do
    call optimizer%statistics(after, stat, message)
    call expect((after%sent_sparse_bytes > 0) .eqv. (ranks > 1), 'sparse bytes')
    call expect(after%sent_background_bytes == 2*dense_mean_bytes(), 'background bytes')
    call expect(after%sent_dense_bytes + after%sent_compressed_bytes + after%sent_node_bytes == 0, 'not in nodes')
    call optimizer%health(health, stat, message)
    if (ranks > 1) call expect(abs(health%support_overlap - 1) < 1e-12, 'the same support on all ranks')
    call expect(abs(health%variance_spread - 4**(ranks - 1)) < 1e-4, 'the spread of the variance')
    call expect(ieee_is_nan(health%variance_drift), 'no drift')
    call destroy(optimizer)
    call setup%destroy()

    ! Two nodes of two: half of 4 d inside a node, there and back; a half of that between nodes.
    if (ranks /= 4) return
    call setup%create('adam')
    call setup%set('lr', 0.01)
    call setup%tensor('x', d)
    call setup%ranks_per_node(2)
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call optimizer%step(x, gradient, stat, message)
    call optimizer%statistics(after, stat, message)
    call expect(after%sent_node_bytes == 4*d .and. after%sent_dense_bytes == 2*d, 'bytes in nodes')
    call destroy(optimizer)
    call setup%destroy()
  end subroutine

  !> Without gradient a step is its weight decay alone: x <- (1 - lr lr_scale decay) x.
  subroutine groups_with_and_without_decay()
    type(kadam_optimizer) :: optimizer
    type(kadam_setup) :: setup
    real(real32) :: x(50), gradient(50)
    call setup%create('adam')
    call setup%set('lr', 0.1)
    call setup%set('weight_decay', 0.5)
    call setup%tensor('no_group', 10)
    call setup%tensor('none', 10)
    call setup%tensor('zero', 10)
    call setup%tensor('own', 10)
    call setup%tensor('slow', 10)
    call setup%group('none', dense=.true.)
    call setup%group('zero', weight_decay=0.0_real64)
    call setup%group('own', weight_decay=1.0_real64)
    call setup%group('slow', lr_scale=0.5_real64)
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call expect(stat == kadam_success, 'groups: '//message)
    x = 1
    gradient = 0
    call optimizer%step(x, gradient, stat, message)
    call expect(all(abs(x(1:20) - 0.95) < 1e-6), 'a group without a weight decay has the optimizer''s')
    call expect(all(abs(x(21:30) - 1) < 1e-6), 'a weight decay of 0 is none')
    call expect(all(abs(x(31:40) - 0.9) < 1e-6), 'a weight decay of its own')
    call expect(all(abs(x(41:50) - 0.975) < 1e-6), 'a learning rate of its own')
    call destroy(optimizer)
    call setup%destroy()
  end subroutine

  subroutine options_of_all_types()
    type(kadam_optimizer) :: optimizer
    type(kadam_setup) :: setup
    call setup%create('onebit_adam')
    call setup%set('lr', 1e-3_real64)
    call setup%set('beta2', 0.99)
    call setup%set('warmup_steps', 'auto')
    call setup%set('block', 256_int64)
    call setup%set('clip_norm', 1.0)
    call setup%tensor('weights', d)
    call setup%tensor('bias', 10)
    call setup%group('bias', lr_scale=2.0_real64, dense=.true.)
    call setup%group('w*', weight_decay=0.0_real64)
    call setup%ranks_per_node(1)
    call setup%gpu_aware('off')
    call setup%piece_bytes(61440)
    call setup%timeout_seconds(600.0_real64)
    call setup%allow_alone(.true.)
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call expect(stat == kadam_success, 'options: '//message)
    call destroy(optimizer)
    call setup%set('precondition', .true.)
    call setup%set('lr', [1e-3_real64, 2e-3_real64])
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call expect(stat == kadam_success, 'a list of learning rates: '//message)
    call destroy(optimizer)
    call setup%set('beta2', [1.0_real64, 2.0_real64])
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call expect_words('beta2', 'a list is no number')
    call setup%destroy()
  end subroutine

  !> A step without gradient is its weight decay alone.
  subroutine options_set_while_training()
    type(kadam_optimizer) :: optimizer
    type(kadam_setup) :: setup
    type(kadam_step_result) :: result
    real(real32) :: x(20), gradient(20)
    call setup%create('adam')
    call setup%set('lr', 0.1)
    call setup%tensor('first', 10)
    call setup%tensor('second', 10)
    call setup%group('second', weight_decay=0.0_real64)
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call setup%destroy()
    call optimizer%set('lr', 0.2, stat, message)
    call expect(stat == kadam_success, 'lr is set: '//message)
    call optimizer%set('weight_decay', 0.5_real64, stat, message)
    call expect(stat == kadam_success, 'weight_decay is set: '//message)
    x = 1
    gradient = 0
    call optimizer%step(x, gradient, stat, message, result)
    call expect(abs(result%learning_rate - 0.2_real64) < 1e-15, 'lr is what was written')
    call expect(all(abs(x(:10) - 0.9) < 1e-6), 'the weight decay that was set')
    call expect(all(abs(x(11:) - 1) < 1e-6), 'a group keeps its own')
    call optimizer%set_group('second', 0.5_real64, stat, message, weight_decay=2.0_real64)
    call expect(stat == kadam_success, 'a group is set: '//message)
    call optimizer%step(x, gradient, stat, message)
    call expect(all(abs(x(11:) - 0.8) < 1e-6), 'factors of a group')
    x = 1
    call optimizer%set_group('second', 1.0_real64, stat)
    call optimizer%step(x, gradient, stat, message)
    call expect(all(abs(x - 0.9) < 1e-6), 'the optimizer''s weight decay')
    call optimizer%set('beta1', 0.5, stat, message)
    call expect_words('beta1', 'an option of the whole run')
    call optimizer%set_group('third', 1.0_real64, stat, message)
    call expect_words('third', 'no such group')
    call destroy(optimizer)
  end subroutine

  subroutine mistakes_in_words()
    type(kadam_optimizer) :: optimizer, none
    type(kadam_setup) :: setup
    real(real32) :: x(d), gradient(d), short(5)
    x = 0
    gradient = 0
    short = 0
    call none%step(x, x, stat, message)
    call expect_words('NULL', 'a step without optimizer')
    call none%set('lr', 0.1, stat, message)
    call expect_words('NULL', 'a learning rate without optimizer')
    call setup%create('no_adam')
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    call expect_words('divisible_adam', 'unknown names list those that are known')
    call setup%destroy()
    call make(optimizer, 'adam')
    call optimizer%step(x, short, stat, message)
    call expect_words('gradient has 5 elements', 'a short gradient')
    call optimizer%step(short, x, stat, message)
    call expect_words('1024', 'short parameters')
    call optimizer%flush(short, stat, message)
    call expect_words('x has 5', 'short parameters to flush')
    call optimizer%save(short, '/nowhere', stat, message)
    call expect_words('x has 5', 'short parameters to save')
    call optimizer%gradient_ready(x(1:d), 1_int64, 2000_int64, stat, message)
    call expect(stat == kadam_invalid_argument, 'a range that is not in the gradient')
    call optimizer%step(x, x, stat, message)
    call expect_words('overlaps the memory of the parameters', 'parameters as their own gradient')
    call optimizer%step(x, gradient, stat)
    call expect(stat == kadam_success, 'the mistakes changed nothing')
    call destroy(optimizer)
    call destroy(optimizer)
  end subroutine

  !> The other ranks hear of it at once.
  subroutine a_short_gradient_of_one_rank()
    type(kadam_optimizer) :: optimizer
    real(real32) :: x(d), gradient(d), short(5)
    if (ranks == 1) return
    x = 0
    gradient = 0
    short = 0
    call make(optimizer, 'adam')
    if (rank == 0) then
      call optimizer%step(x, short, stat, message)
      call expect_words('gradient has 5 elements', 'a short gradient of one rank')
    else
      call optimizer%step(x, gradient, stat, message)
      call expect(stat == kadam_peer_failure, 'a short gradient of another rank: '//message)
    end if
    call destroy(optimizer)
  end subroutine

  !> 1 in bfloat16 is 3F80, in float16 3C00.
  subroutine half_gradients_and_model()
    type(kadam_optimizer) :: optimizer
    real(real32) :: x(d)
    integer(int16) :: gradient(d)
    integer(int16), pointer, contiguous :: model(:), none(:)
    allocate (model(d))
    nullify (none)
    call make(optimizer, 'adam', 'bf16')
    x = 1.01
    gradient = int(z'3F80', int16)
    call optimizer%set_model(model, kadam_float16, stat, message)
    call expect(stat == kadam_success, 'model: '//message)
    call optimizer%step(x, gradient, stat, message)
    call expect(stat == kadam_success, 'half step: '//message)
    call expect(all(abs(x - 1) < 1e-5), 'x after a half gradient')
    call expect(all(model == int(z'3C00', int16)), 'the model')
    model = 0
    call optimizer%set_model(none, kadam_float16, stat, message)
    call optimizer%step(x, gradient, stat, message)
    call expect(all(model == 0_int16), 'no model any more')
    call destroy(optimizer)
    deallocate (model)
  end subroutine

  !> An array of the other kind would be read past its end, or as other numbers.
  subroutine gradients_of_another_kind()
    type(kadam_optimizer) :: optimizer
    real(real32) :: x(d), before(d), gradient(d)
    integer(int16) :: half(d)
    x = 1
    before = x
    gradient = 1
    half = int(z'3F80', int16)
    call make(optimizer, 'adam')
    call optimizer%step(x, half, stat, message)
    call expect_words("16 bits; the option 'gradients' of the setup asks for 32", 'half step')
    call expect(same_bits(x, before), 'x after a refused gradient')
    call destroy(optimizer)
    call make(optimizer, 'adam', 'bf16')
    call optimizer%gradient_ready(gradient, 1_int64, int(d, int64), stat, message)
    call expect_words("32 bits; the option 'gradients' of the setup asks for 16", 'announcement')
    call optimizer%step(x, half, stat, message)
    call expect(stat == kadam_success, 'step after a refused announcement: '//message)
    call destroy(optimizer)
  end subroutine

  !> Without snapshots nothing is known of survivors.
  subroutine nobody_goes_on_without_snapshots()
    type(kadam_optimizer) :: optimizer
    type(kadam_survivors) :: left
    real(real32) :: x(d)
    call make(optimizer, 'adam')
    x = 1
    left = kadam_survivors(7, 7, 7, 7)
    call optimizer%go_on(x, stat, message, left)
    call expect(stat == kadam_no_snapshot .and. left%ranks == 0 .and. left%step == 0, 'no snapshots: '//message)
    call destroy(optimizer)
  end subroutine

  subroutine local_steps_and_consensus()
    type(kadam_optimizer) :: optimizer
    type(kadam_health) :: health
    real(real32) :: x(d), gradient(d), consensus(d), lowest(d), highest(d)
    integer :: step
    call make(optimizer, 'zero_one_adam')
    call optimizer%measure_phases(.true., stat, message)
    x = 0
    do step = 1, 7
      gradient = real(1 + modulo(rank + step, 3), real32)
      call optimizer%progress(stat, message)
      call optimizer%step(x, gradient, stat, message)
      call expect(stat == kadam_success, 'local step: '//message)
    end do
    call optimizer%wait(stat, message)
    call optimizer%health(health, stat, message)
    call expect(stat == kadam_success .and. ieee_is_nan(health%support_overlap), 'health: '//message)
    call optimizer%consensus(x, consensus, stat, message)
    call optimizer%flush(x, stat, message)
    call expect(same_bits(x, consensus), 'the consensus is what flush leaves')
    call MPI_Allreduce(x, lowest, d, MPI_REAL, MPI_MIN, MPI_COMM_WORLD)
    call MPI_Allreduce(x, highest, d, MPI_REAL, MPI_MAX, MPI_COMM_WORLD)
    call expect(same_bits(lowest, highest) .and. all(x < 0), 'the same on all ranks')
    call destroy(optimizer)
  end subroutine

  subroutine device_pointers_and_announcements()
    type(kadam_optimizer) :: optimizer
    real(real32), target :: x(d), gradient(d)
    real(real32) :: apart(2*d)
    character(len=:), allocatable :: space
    call make(optimizer, 'adam')
    x = 1
    gradient = -1
    apart = -1
    call optimizer%gradient_ready(apart(::2), 1_int64, int(d, int64), stat, message)
    call expect_words('contiguous', 'a gradient with gaps')
    call optimizer%gradient_ready(gradient, 501_int64, int(d, int64), stat, message)
    call optimizer%gradient_ready(gradient, 1_int64, 500_int64, stat, message)
    call expect(stat == kadam_success, 'announced: '//message)
    call optimizer%step(c_loc(x), c_loc(gradient), stat, message)
    call expect(stat == kadam_success .and. all(abs(x - 1.01) < 1e-6), 'by pointers: '//message)
    call optimizer%set_stream(c_null_ptr, stat, message)
    space = kadam_execution_space()
    call expect((stat == kadam_not_built) .neqv. (space == 'Cuda' .or. space == 'HIP'), 'streams: '//message)
    call destroy(optimizer)
  end subroutine

  subroutine saved_and_restored()
    type(kadam_optimizer) :: optimizer, other
    real(real32) :: x(d), y(d), gradient(d)
    integer(int64) :: step
    character(len=:), allocatable :: folder
    character(len=256) :: temporary
    integer :: k
    call get_environment_variable('TMPDIR', temporary)
    if (temporary == '') temporary = '/tmp'
    if (rank == 0) call system_clock(k)
    call MPI_Bcast(k, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    allocate (character(len=len_trim(temporary) + 30) :: folder)
    write (folder, '(2a, i0)') trim(temporary), '/kadam-fortran-', k
    call make(optimizer, 'onebit_adam')
    call optimizer%load_newest(x, folder, stat, message)
    call expect(stat == kadam_no_checkpoint, 'nothing there yet: '//message)
    x = [(0.001*k, k=1, d)]
    do k = 1, 9
      if (k == 6) then
        call optimizer%save(x, folder, stat, message, keep=1, words='line 17')
        call expect(stat == kadam_success, 'saved: '//message)
      end if
      gradient = x + 0.1*k + 0.01*rank
      call optimizer%step(x, gradient, stat, message)
    end do
    call make(other, 'onebit_adam')
    y = 0
    call other%load_newest(y, folder, stat, message, step)
    call expect(stat == kadam_success .and. step == 5, 'restored: '//message)
    call expect(other%words() == 'line 17', 'words: '//other%words())
    do k = 6, 9
      gradient = y + 0.1*k + 0.01*rank
      call other%step(y, gradient, stat, message)
    end do
    call expect(same_bits(x, y), 'the same to the last bit')
    call other%load(y, trim(folder)//'/step-000000000005', stat, message)
    call expect(stat == kadam_success, 'restored by path: '//message)
    call optimizer%save(x, folder, stat, message)
    call other%load_newest(y, folder, stat, message, step)
    call expect(stat == kadam_success .and. step == 9, 'restored without words: '//message)
    call expect(other%words() == '', 'old words: '//other%words())
    call other%load(y, trim(folder)//'/step-000000000099', stat, message)
    call expect(stat /= kadam_success .and. index(message, 'step-000000000099') > 0, 'no such checkpoint: '//message)
    call destroy(optimizer)
    call destroy(other)
    if (rank == 0) call execute_command_line('rm -r '//trim(folder))
  end subroutine
end program module_test
