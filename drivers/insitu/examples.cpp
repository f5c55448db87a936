// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/examples.hpp>
#include <workloads/layers/row.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

namespace kadam::insitu {
namespace {

using workloads::Matrix;
using workloads::RowMember;

/// Scaling as kernels use it.
struct Factors {
  double mean[species];
  double per_deviation[species];
  double change_size[species];

  explicit Factors(const Scaling& scaling) {
    for (std::size_t s = 0; s < species; ++s) {
      mean[s] = scaling.mean[s];
      per_deviation[s] = 1.0 / scaling.deviation[s];
      change_size[s] = scaling.change_size[s];
    }
  }
};

/// The inputs of one example: [dy][dx][species] around row y, column x of a field's block. at(s, y, x) counts
/// the halo in.
template <class At>
KOKKOS_INLINE_FUNCTION void write_inputs(const RowMember& member, const At& at, std::int64_t radius,
                                         const Factors& factors, float* out) {
  const std::int64_t side = 2 * radius + 1;
  for (std::int64_t dy = 0; dy < side; ++dy) {
    float* const row = out + dy * side * species;
    workloads::row_for(member, side, [&](std::int64_t dx) {
      for (int s = 0; s < species; ++s)
        row[dx * species + s] =
            static_cast<float>((at(s, dy, dx) - factors.mean[s]) * factors.per_deviation[s]);
    });
  }
}

/// Σ s, Σ s^2, Σ (change of s)^2 over a rank's cells.
std::array<double, 3> sums_of(const ExecutionSpace& exec, const Block& block, const Field& before,
                              const Field& after, std::int64_t halo, int s) {
  std::array<double, 3> sums{};
  Kokkos::parallel_reduce(
      "kadam-insitu::sums_of_jump",
      Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>(
          exec, {std::int64_t{0}, std::int64_t{0}}, {block.height, block.width}),
      KOKKOS_LAMBDA(std::int64_t y, std::int64_t x, double& sum, double& squares, double& changes) {
        const double value = after(s, y + halo, x + halo);
        const double change = value - before(s, y + halo, x + halo);
        sum += value;
        squares += value * value;
        changes += change * change;
      },
      sums[0], sums[1], sums[2]);
  return sums;
}

}  // namespace

Scaling Scaling::of_jump(const ExecutionSpace& exec, Communicator& communicator, const Block& block,
                         const Field& before, const Field& after, std::int64_t halo) {
  Scaling scaling;
  for (int s = 0; s < species; ++s) {
    const std::array<double, 3> own = sums_of(exec, block, before, after, halo, s);
    const std::array<double, 4> values = {static_cast<double>(block.cells()), own[0], own[1], own[2]};
    const std::vector<double> all = communicator.all_gather_values(values);
    std::array<double, 4> sums{};
    for (std::size_t k = 0; k < all.size(); ++k) sums[k % 4] += all[k];
    const auto at = static_cast<std::size_t>(s);
    scaling.mean[at] = sums[1] / sums[0];
    scaling.deviation[at] = std::sqrt(std::max(0.0, sums[2] / sums[0] - scaling.mean[at] * scaling.mean[at]));
    scaling.change_size[at] = std::sqrt(sums[3] / sums[0]);
    if (!(scaling.deviation[at] > 1e-6 && scaling.change_size[at] > 1e-9)) {
      throw std::runtime_error(fmt::format(
          "nothing to learn: after the spin-up {} is the same everywhere or does not change any more; "
          "try another solver.feed or solver.kill, more solver.spots, or a shorter solver.spin_up",
          s == 0 ? "u" : "v"));
    }
  }
  return scaling;
}

void gather_examples(const ExecutionSpace& exec, const FieldStack& states, std::int64_t radius,
                     const Sites& sites, const Scaling& scaling, const Surrogate::Batch& batch) {
  const Factors factors(scaling);
  const Matrix<float> inputs = batch.inputs;
  const Matrix<float> targets = batch.targets;
  Kokkos::parallel_for(
      "kadam-insitu::gather_examples", workloads::row_policy(exec, workloads::rows_of(inputs)),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t example = member.league_rank();
        const std::int32_t* const site = sites.data() + example * site_numbers;
        const std::int64_t y = site[2];
        const std::int64_t x = site[3];
        const auto at = [&](int s, std::int64_t dy, std::int64_t dx) {
          return states(site[0], s, y + dy, x + dx);
        };
        write_inputs(member, at, radius, factors, &inputs(example, 0));
        Kokkos::single(Kokkos::PerThread(member), [&] {
          for (int s = 0; s < species; ++s) {
            const double change =
                states(site[1], s, y + radius, x + radius) - states(site[0], s, y + radius, x + radius);
            targets(example, s) = static_cast<float>(change / factors.change_size[s]);
          }
        });
      });
}

void gather_inputs(const ExecutionSpace& exec, const Field& field, std::int64_t radius, const Block& block,
                   std::int64_t first, const Scaling& scaling, const Matrix<float>& inputs) {
  const Factors factors(scaling);
  const std::int64_t width = block.width;
  Kokkos::parallel_for(
      "kadam-insitu::gather_inputs", workloads::row_policy(exec, workloads::rows_of(inputs)),
      KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t cell = first + member.league_rank();
        const std::int64_t y = cell / width;
        const std::int64_t x = cell % width;
        const auto at = [&](int s, std::int64_t dy, std::int64_t dx) { return field(s, y + dy, x + dx); };
        write_inputs(member, at, radius, factors, &inputs(member.league_rank(), 0));
      });
}

void apply_changes(const ExecutionSpace& exec, const Field& before, std::int64_t radius, const Block& block,
                   std::int64_t first, const Scaling& scaling, const Matrix<const float>& outputs,
                   const Field& after) {
  const Factors factors(scaling);
  const std::int64_t width = block.width;
  Kokkos::parallel_for(
      "kadam-insitu::apply_changes",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(exec, 0,
                                                                           workloads::rows_of(outputs)),
      KOKKOS_LAMBDA(std::int64_t k) {
        const std::int64_t y = (first + k) / width + radius;
        const std::int64_t x = (first + k) % width + radius;
        for (int s = 0; s < species; ++s) {
          after(s, y, x) = before(s, y, x) + factors.change_size[s] * static_cast<double>(outputs(k, s));
        }
      });
}

}  // namespace kadam::insitu
