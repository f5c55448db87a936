// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/squared_error.hpp>

namespace kadam::insitu {

double squared_error_gradient(const ExecutionSpace& exec, const workloads::Matrix<float>& outputs,
                              const workloads::Matrix<const float>& targets) {
  float* const y = outputs.data();
  const float* const t = targets.data();
  const std::int64_t elements = workloads::rows_of(outputs) * workloads::columns_of(outputs);
  const auto scale = static_cast<float>(2.0 / static_cast<double>(elements));
  double sum = 0.0;
  Kokkos::parallel_reduce(
      "kadam-insitu::squared_error_gradient",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0, elements),
      KOKKOS_LAMBDA(std::int64_t i, double& part) {
        const float error = y[i] - t[i];
        part += static_cast<double>(error) * static_cast<double>(error);
        y[i] = scale * error;
      },
      sum);
  return sum / static_cast<double>(elements);
}

}  // namespace kadam::insitu
