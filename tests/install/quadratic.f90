! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> Minimises |x - 1|^2 by the Fortran module, on one rank.
program quadratic
  use kadam
  use mpi_f08
  implicit none
  type(kadam_setup) :: setup
  type(kadam_optimizer) :: optimizer
  real :: x(1000)
  integer :: step, stat
  character(len=200) :: message

  call MPI_Init()
  call kadam_kokkos_initialize(stat, message, threads=1)
  call setup%create('adam')
  call setup%set('lr', 0.1)
  call setup%tensor('x', size(x))
  call optimizer%create(setup, MPI_COMM_SELF, stat, message)
  call setup%destroy()
  x = 0
  do step = 1, 300
    if (stat == kadam_success) call optimizer%step(x, 2*(x - 1), stat, message)
  end do
  if (stat /= kadam_success) print *, trim(message)
  call optimizer%destroy(stat)
  call kadam_kokkos_finalize(stat)
  call MPI_Finalize()
  print '(3a, f7.4)', 'Kadam ', kadam_version(), ' from Fortran: x = ', x(1)
  if (abs(x(1) - 1) > 0.01) error stop 1
end program quadratic
