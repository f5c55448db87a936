! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> Names the library that was built; initialises and finalises Kokkos.
module kadam_library
  use, intrinsic :: iso_c_binding, only: c_int
  use kadam_c_interface
  implicit none
  private

  public :: kadam_version, kadam_execution_space, kadam_kokkos_initialize, kadam_kokkos_finalize

contains

  !> The version of the library, as in '0.2.0'.
  function kadam_version() result(text)
    character(len=:), allocatable :: text
    text = text_at(c_version())
  end function

  !> Where kernels run, as Kokkos names it: 'OpenMP', 'Cuda', 'HIP', 'Serial'.
  function kadam_execution_space() result(text)
    character(len=:), allocatable :: text
    text = text_at(c_execution_space())
  end function

  !> Initialises Kokkos, for a program that does not do so itself. Call it once, after MPI_Init. threads: number of host
  !> threads of this rank (default: as OMP_NUM_THREADS says).
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

  !> Finalises Kokkos. Call it after the last optimizer%destroy() and before MPI_Finalize.
  subroutine kadam_kokkos_finalize(stat, errmsg)
    integer, intent(out) :: stat
    character(len=*), intent(out), optional :: errmsg
    type(c_error) :: error
    call report(c_kokkos_finalize(error), error, stat, errmsg)
  end subroutine
end module kadam_library
