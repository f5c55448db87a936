// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/blas_threads.hpp>

// Null unless OpenBLAS is linked: its own header is not needed, and other BLAS libraries do not have them.
extern "C" {
__attribute__((weak)) void openblas_set_num_threads(int threads);
__attribute__((weak)) int openblas_get_parallel(void);
}

namespace kadam::workloads {

int set_blas_threads(int kokkos_threads) {
  if (openblas_set_num_threads == nullptr || openblas_get_parallel == nullptr) {
    return 0;
  }
  constexpr int built_for_openmp = 2;
  const int threads = openblas_get_parallel() == built_for_openmp ? kokkos_threads : 1;
  openblas_set_num_threads(threads);
  return threads;
}

}  // namespace kadam::workloads
