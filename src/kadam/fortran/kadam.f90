! SPDX-FileCopyrightText: The Kadam authors
! SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

!> Kadam for Fortran: kadam.h with assumed-shape arrays, mpi_f08 communicators and text of any length.
!>
!>   type(kadam_setup) :: setup
!>   type(kadam_optimizer) :: optimizer
!>   call kadam_kokkos_initialize(stat, errmsg)     ! unless the program starts Kokkos itself
!>   call setup%create('onebit_adam')
!>   call setup%set('lr', 1e-3)
!>   call setup%set('warmup_steps', 500)
!>   call setup%tensor('weights', 7840)
!>   call optimizer%create(setup, MPI_COMM_WORLD, stat, errmsg)
!>   call setup%destroy()
!>   ...
!>   call optimizer%step(x, gradient, stat, errmsg)
!>   ...
!>   call optimizer%destroy(stat)
!>
!> stat is 0 (kadam_success), or one of the other codes; errmsg then says why. kadam.h says what each call does, and
!> which calls are collective. Destroy each setup and each optimizer by a call of destroy(), once: an assignment copies
!> the handle, not the object.
module kadam
  use kadam_c_interface, only: kadam_statistics, kadam_health, kadam_survivors, kadam_success, kadam_invalid_argument, &
    kadam_not_ready, kadam_mpi_failure, kadam_peer_failure, kadam_failure, kadam_no_checkpoint, kadam_out_of_memory, &
    kadam_not_built, kadam_no_snapshot, kadam_bfloat16, kadam_float16
  use kadam_library, only: kadam_version, kadam_execution_space, kadam_kokkos_initialize, kadam_kokkos_finalize
  use kadam_optimizers, only: kadam_optimizer, kadam_step_result
  use kadam_setups, only: kadam_setup
  implicit none
  public
end module kadam
