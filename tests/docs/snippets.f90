! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> What pages show in Fortran, in a program that does what they say.
program snippets
  use, intrinsic :: iso_fortran_env, only: int64, real32
  use mpi_f08
  use kadam
  implicit none

  integer, parameter :: d = 1000
  type(kadam_setup) :: setup
  type(kadam_optimizer) :: optimizer
  real(real32) :: x(d), gradient(d)
  integer :: stat
  character(len=512) :: message

  call MPI_Init()
  call kadam_kokkos_initialize(stat, message, threads=1)
  x = 0
  gradient = 3
  call make_adam()
  call take_step()
  ! Adam's first step has the length of the learning rate, whatever the gradient is.
  if (abs(x(d) + 0.01_real32) > 1e-6_real32) error stop 'another step'
  call optimizer%destroy(stat)
  call minimise_together()
  call kadam_kokkos_finalize(stat)
  call MPI_Finalize()

contains

  subroutine make_adam()
    call setup%create('adam')
    call setup%set('lr', 1e-2)
    call setup%tensor('weights', d)
    call optimizer%create(setup, MPI_COMM_WORLD, stat, message)
    if (stat /= kadam_success) error stop message
    call setup%destroy()
  end subroutine

  subroutine take_step()
    call optimizer%step(x, gradient, stat, message)
    if (stat /= kadam_success) error stop message
  end subroutine

  !> Each rank has a target of its own: they meet at the mean.
  subroutine minimise_together()
    integer :: rank, ranks
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    x = 3
    call minimise(MPI_COMM_WORLD, x, real(rank))
    if (any(abs(x - 0.5 * (ranks - 1)) > 0.05)) error stop 'the ranks did not meet at the mean'
  end subroutine

  subroutine minimise(communicator, x, target)
    type(MPI_Comm), intent(in) :: communicator
    real, intent(inout) :: x(:)
    real, intent(in) :: target
    type(kadam_setup) :: setup
    type(kadam_optimizer) :: optimizer
    integer :: step, stat
    call setup%create('onebit_adam')
    call setup%set('lr', 0.01)
    call setup%set('warmup_steps', 100)
    call setup%tensor('weights', size(x))
    call optimizer%create(setup, communicator, stat)
    call setup%destroy()
    do step = 1, 1000
      call optimizer%step(x, x - target, stat)
    end do
    call optimizer%destroy(stat)
  end subroutine
end program
