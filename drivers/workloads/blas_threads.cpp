// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/blas_threads.hpp>

// Null unless OpenBLAS is linked: its own header is not needed, and other BLAS libraries do not have the
// function.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int threads);

namespace kadam::workloads {

bool set_blas_threads(int threads) {
  if (openblas_set_num_threads == nullptr) {
    return false;
  }
  openblas_set_num_threads(threads);
  return true;
}

}  // namespace kadam::workloads
