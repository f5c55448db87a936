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
end program
