! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> What was built, and Kokkos' beginning and end.
module kadam_library
  use, intrinsic :: iso_c_binding, only: c_int
  use kadam_c_interface
  implicit none
  private

  public :: kadam_version, kadam_execution_space, kadam_kokkos_initialize, kadam_kokkos_finalize

contains

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
end module kadam_library
