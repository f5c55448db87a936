// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "samples.hpp"

#include "random.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace gray_scott {
namespace {

/// Σ term(y, x) over all cells of the grid, which are those of all ranks' slabs.
template <class Term>
double sum_over_cells(const ExecutionSpace& exec, kadam::Communicator& ranks, const Slab& slab,
                      const Term& term) {
  double sum = 0.0;
  Kokkos::parallel_reduce(
      "gray_scott::sum_over_cells",
      Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2>, Kokkos::IndexType<std::int64_t>>(
          exec, {slab.halo(), 0}, {slab.halo() + slab.rows(), slab.width()}),
      KOKKOS_LAMBDA(std::int64_t y, std::int64_t x, double& part) { part += term(y, x); }, sum);
  return ranks.sum_over_ranks(sum);
}

/// Σ (a - b)^2 of one species.
double sum_of_squares(const ExecutionSpace& exec, kadam::Communicator& ranks, const Slab& slab, int s,
                      const Field& a, const Field& b) {
  const auto square = KOKKOS_LAMBDA(std::int64_t y, std::int64_t x) {
    return (a(y, s, x) - b(y, s, x)) * (a(y, s, x) - b(y, s, x));
  };
  return sum_over_cells(exec, ranks, slab, square);
}

/// Writes the inputs of an example: [row][species][column] of its square, then a 1.
KOKKOS_INLINE_FUNCTION void write_inputs(const RowMember& member, const History::States& states,
                                         const Site& site, const Scaling& scaling, const Matrix& inputs,
                                         std::int64_t halo) {
  const std::int64_t k = member.league_rank();
  const std::int64_t side = 2 * halo + 1;
  const auto width = static_cast<std::int64_t>(states.extent(3));
  const std::int64_t numbers = side * species * side;
  Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, numbers), [&](std::int64_t c) {
    const std::int64_t s = c / side % species;
    const std::int64_t x = (site.x - halo + c % side + width) % width;
    const double value = states(site.before, site.y + c / (species * side), s, x);
    inputs(k, c) = static_cast<float>((value - scaling.mean[s]) / scaling.deviation[s]);
  });
  Kokkos::single(Kokkos::PerThread(member), [&] { inputs(k, numbers) = 1.0F; });
}

}  // namespace

Scaling Scaling::of_jump(const ExecutionSpace& exec, kadam::Communicator& ranks, const Slab& slab,
                         const Field& before, const Field& after) {
  const auto one = KOKKOS_LAMBDA(std::int64_t, std::int64_t) {
    return 1.0;
  };
  const double cells = sum_over_cells(exec, ranks, slab, one);
  Scaling scaling;
  for (int s = 0; s < species; ++s) {
    const auto value = KOKKOS_LAMBDA(std::int64_t y, std::int64_t x) {
      return after(y, s, x);
    };
    const double mean = sum_over_cells(exec, ranks, slab, value) / cells;
    const auto deviation = KOKKOS_LAMBDA(std::int64_t y, std::int64_t x) {
      return (after(y, s, x) - mean) * (after(y, s, x) - mean);
    };
    scaling.mean[s] = mean;
    scaling.deviation[s] = std::sqrt(sum_over_cells(exec, ranks, slab, deviation) / cells);
    scaling.change_size[s] = std::sqrt(sum_of_squares(exec, ranks, slab, s, after, before) / cells);
    if (!(scaling.deviation[s] > 1e-6 && scaling.change_size[s] > 1e-9)) {
      throw std::runtime_error(
          std::string("nothing to learn: after the spin-up ") + (s == 0 ? "u" : "v") +
          " is the same everywhere or does not change any more; try another solver.feed or "
          "solver.kill, more solver.spots, or a shorter solver.spin_up");
    }
  }
  return scaling;
}

double relative_error(const ExecutionSpace& exec, kadam::Communicator& ranks, const Slab& slab,
                      const Field& prediction, const Field& truth) {
  double mean = 0.0;
  for (int s = 0; s < species; ++s) {
    const auto square = KOKKOS_LAMBDA(std::int64_t y, std::int64_t x) {
      return truth(y, s, x) * truth(y, s, x);
    };
    mean += sum_of_squares(exec, ranks, slab, s, prediction, truth) /
            sum_over_cells(exec, ranks, slab, square) / species;
  }
  return std::sqrt(mean);
}

KOKKOS_FUNCTION Site RandomSites::operator()(std::int64_t k) const {
  const std::uint64_t counter = 3 * (first + static_cast<std::uint64_t>(k));
  const std::int64_t jump = oldest + random_below(seed, counter, jumps);
  return {jump % slots, (jump + 1) % slots, random_below(seed, counter + 1, rows),
          random_below(seed, counter + 2, width)};
}

void gather_examples(const ExecutionSpace& exec, const Slab& slab, const History& history,
                     const RandomSites& sites, const Scaling& scaling, const Matrix& inputs,
                     const Matrix& targets) {
  const History::States states = history.states();
  const std::int64_t halo = slab.halo();
  Kokkos::parallel_for(
      "gray_scott::gather_examples", for_rows_of(exec, inputs), KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t k = member.league_rank();
        const Site site = sites(k);
        write_inputs(member, states, site, scaling, inputs, halo);
        Kokkos::parallel_for(Kokkos::ThreadVectorRange(member, species), [&](int s) {
          const double change =
              states(site.after, site.y + halo, s, site.x) - states(site.before, site.y + halo, s, site.x);
          targets(k, s) = static_cast<float>(change / scaling.change_size[s]);
        });
      });
}

void gather_inputs(const ExecutionSpace& exec, const Slab& slab, const Field& field, std::int64_t first,
                   const Scaling& scaling, const Matrix& inputs) {
  const History::States states(field.data(), 1, field.extent(0), field.extent(1), field.extent(2));
  const std::int64_t width = slab.width();
  const std::int64_t halo = slab.halo();
  Kokkos::parallel_for(
      "gray_scott::gather_inputs", for_rows_of(exec, inputs), KOKKOS_LAMBDA(const RowMember& member) {
        const std::int64_t cell = first + member.league_rank();
        write_inputs(member, states, {0, 0, cell / width, cell % width}, scaling, inputs, halo);
      });
}

void apply_changes(const ExecutionSpace& exec, const Slab& slab, const Field& before, std::int64_t first,
                   const Scaling& scaling, const Matrix& changes, const Field& after) {
  const std::int64_t width = slab.width();
  const std::int64_t halo = slab.halo();
  Kokkos::parallel_for(
      "gray_scott::apply_changes",
      Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>(
          exec, 0, static_cast<std::int64_t>(changes.extent(0))),
      KOKKOS_LAMBDA(std::int64_t k) {
        const std::int64_t y = (first + k) / width + halo;
        const std::int64_t x = (first + k) % width;
        for (int s = 0; s < species; ++s) {
          after(y, s, x) = before(y, s, x) + scaling.change_size[s] * static_cast<double>(changes(k, s));
        }
      });
}

}  // namespace gray_scott
