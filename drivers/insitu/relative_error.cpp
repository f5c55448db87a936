// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/relative_error.hpp>

#include <array>
#include <cmath>
#include <vector>

namespace kadam::insitu {
namespace {

/// Σ (a - b)^2 and Σ b^2 of one species over a rank's cells.
std::array<double, 2> squares_of(const ExecutionSpace& exec, const Block& block, const Field& a,
                                 const Field& b, std::int64_t halo, int s) {
  std::array<double, 2> sums{};
  Kokkos::parallel_reduce(
      "kadam-insitu::squared_differences",
      Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>(
          exec, {halo, halo}, {block.height + halo, block.width + halo}),
      KOKKOS_LAMBDA(std::int64_t y, std::int64_t x, double& differences, double& squares) {
        const double difference = a(s, y, x) - b(s, y, x);
        differences += difference * difference;
        squares += b(s, y, x) * b(s, y, x);
      },
      sums[0], sums[1]);
  return sums;
}

}  // namespace

double relative_error(const ExecutionSpace& exec, Communicator& communicator, const Block& block,
                      const Field& prediction, const Field& truth, std::int64_t halo) {
  double mean = 0.0;
  for (int s = 0; s < species; ++s) {
    const std::array<double, 2> own = squares_of(exec, block, prediction, truth, halo, s);
    const std::vector<double> all = communicator.all_gather_values(own);
    std::array<double, 2> sums{};
    for (std::size_t k = 0; k < all.size(); ++k) sums[k % 2] += all[k];
    mean += sums[0] / sums[1] / species;
  }
  return std::sqrt(mean);
}

}  // namespace kadam::insitu
