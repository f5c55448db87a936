// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace kadam::workloads {

/// Keeps OpenBLAS, if it is the BLAS behind Kokkos Kernels, within the threads that Kokkos has: left alone it
/// takes every core of the machine, for each MPI rank. For the whole process.
///
/// OpenBLAS built for OpenMP shares Kokkos' threads and gets all of them. Its build for POSIX threads brings
/// its own, which would fight for cores with those that OpenMP keeps spinning between kernels, so it gets
/// one: for more than one thread per rank install the other build (Debian: libopenblas0-openmp).
///
/// Returns the threads that OpenBLAS now has, 0 if it cannot be told: another library, or Debian's
/// libblas.so.3, which hides these functions. Then OPENBLAS_NUM_THREADS, or OMP_NUM_THREADS, decides when the
/// program starts.
int set_blas_threads(int kokkos_threads);

}  // namespace kadam::workloads
