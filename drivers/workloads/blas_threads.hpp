// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace kadam::workloads {

/// Gives the BLAS behind Kokkos Kernels `threads` threads if it is OpenBLAS, which otherwise takes every core
/// of the machine for each MPI rank. Other libraries follow OMP_NUM_THREADS, as Kokkos does. For the whole
/// process. Returns whether OpenBLAS was found.
bool set_blas_threads(int threads);

}  // namespace kadam::workloads
