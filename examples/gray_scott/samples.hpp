// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "matrix.hpp"
#include "slab.hpp"
#include <kadam/comm/communicator.hpp>

#include <algorithm>

namespace gray_scott {

/// Holds the last states of the solver, a jump apart, from which the surrogate learns. Their halos are as
/// wide as the surrogate's radius. States stay in the memory of the execution space. Refers to `slab`.
/// Memory: 16 (jumps + 1) B per cell, halos included.
class History {
 public:
  /// Shape: [slot][row][species][column].
  using States = Kokkos::View<double****, Kokkos::LayoutRight, MemorySpace>;

  History(const ExecutionSpace& exec, const Slab& slab, std::int64_t jumps)
      : slab_(slab),
        states_(Kokkos::view_alloc(exec, "gray_scott::history"), static_cast<std::size_t>(jumps + 1),
                static_cast<std::size_t>(slab.rows() + 2 * slab.halo()), species,
                static_cast<std::size_t>(slab.width())) {}

  /// Copies a field and fills its halo; replaces the oldest state if all slots are full. Collective.
  void add(const ExecutionSpace& exec, const Field& field) {
    const Field newest = state(added_++ % slots());
    Kokkos::deep_copy(exec, newest, field);
    slab_.exchange(exec, newest, slab_.halo());
  }

  /// Number of jumps: pairs of states one jump apart.
  [[nodiscard]] std::int64_t jumps() const { return std::min(added_, slots()) - 1; }
  /// Slot of the state before jump k = 0, 1, ..., the oldest first. The state after it is in slot(k + 1).
  [[nodiscard]] std::int64_t slot(std::int64_t k) const { return (added_ - 1 - jumps() + k) % slots(); }
  [[nodiscard]] std::int64_t slots() const { return static_cast<std::int64_t>(states_.extent(0)); }
  [[nodiscard]] const States& states() const { return states_; }
  [[nodiscard]] Field newest() const { return state(slot(jumps())); }
  [[nodiscard]] Field second_newest() const { return state(slot(jumps() - 1)); }

 private:
  [[nodiscard]] Field state(std::int64_t slot) const {
    return Kokkos::subview(states_, slot, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL);
  }

  const Slab& slab_;
  States states_;
  std::int64_t added_ = 0;
};

/// Scales numbers to a size of about one: inputs to (s - mean) / deviation, outputs to change / change_size.
struct Scaling {
  double mean[species] = {};
  double deviation[species] = {};
  double change_size[species] = {};  ///< root mean square

  /// Measures a jump of the whole grid, from `before` to `after`; the same on all ranks. Collective. Errors:
  /// std::runtime_error if a species is the same everywhere, or does not change: there is nothing to learn.
  [[nodiscard]] static Scaling of_jump(const ExecutionSpace& exec, kadam::Communicator& ranks,
                                       const Slab& slab, const Field& before, const Field& after);
};

/// √(1/2 Σ_species |prediction - truth|^2 / |truth|^2), norms over all cells of the grid. The same on all
/// ranks. Collective.
[[nodiscard]] double relative_error(const ExecutionSpace& exec, kadam::Communicator& ranks, const Slab& slab,
                                    const Field& prediction, const Field& truth);

/// A cell of a slab (row y without halo, column x), and the slots of a history before and after a jump.
struct Site {
  std::int64_t before, after, y, x;
};

/// Draws sites: cells of the slab and jumps of the history, all equally likely. Valid until the history
/// changes.
struct RandomSites {
  std::uint64_t seed, first;  ///< number of the first site among all that are drawn with this seed
  std::int64_t jumps, oldest, slots, rows, width;

  RandomSites(std::uint64_t seed_, std::uint64_t first_, const History& history, const Slab& slab)
      : seed(seed_),
        first(first_),
        jumps(history.jumps()),
        oldest(history.slot(0)),
        slots(history.slots()),
        rows(slab.rows()),
        width(slab.width()) {}
  [[nodiscard]] KOKKOS_FUNCTION Site operator()(std::int64_t k) const;
};

/// Fills inputs and targets with one example per row: the square of (2 halo + 1)^2 cells around a random
/// site, and the change of its centre over the jump. Enqueued on exec.
void gather_examples(const ExecutionSpace& exec, const Slab& slab, const History& history,
                     const RandomSites& sites, const Scaling& scaling, const Matrix& inputs,
                     const Matrix& targets);

/// Fills inputs with the squares around consecutive cells of a slab in one field, beginning with cell
/// `first`. Enqueued on exec.
void gather_inputs(const ExecutionSpace& exec, const Slab& slab, const Field& field, std::int64_t first,
                   const Scaling& scaling, const Matrix& inputs);

/// after = before + change, in the cells of gather_inputs(). changes: scaled, one row per cell. Enqueued on
/// exec.
void apply_changes(const ExecutionSpace& exec, const Slab& slab, const Field& before, std::int64_t first,
                   const Scaling& scaling, const Matrix& changes, const Field& after);

}  // namespace gray_scott
