// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/field.hpp>
#include <insitu/halo_exchange.hpp>

#include <cstdint>

namespace kadam::insitu {

/// Fields one above the other, [slot][species][y][x], each with a halo.
using FieldStack = Kokkos::View<double****, Kokkos::LayoutRight, MemorySpace>;

/// The last states of the solver, a jump apart, with halos as wide as the surrogate's radius: what it learns
/// from. Nothing of it ever leaves the memory of the execution space.
///
/// Memory: 16 (jumps + 1) B per cell, halos included. Wire: one halo of that width for each state.
class History {
 public:
  History(const ExecutionSpace& exec, const Block& block, std::int64_t jumps, std::int64_t halo);

  /// Takes the state that the solver has now; the oldest is forgotten when there are enough. Collective.
  void add(const ExecutionSpace& exec, const Field& field, std::int64_t field_halo, HaloExchange& exchange);

  /// Pairs of states that lie a jump apart.
  [[nodiscard]] std::int64_t jumps() const;
  /// Where the earlier state of a pair lies; 0 is the oldest pair.
  [[nodiscard]] std::int64_t slot_before(std::int64_t jump) const;
  [[nodiscard]] std::int64_t slot_after(std::int64_t jump) const { return slot_before(jump + 1); }
  [[nodiscard]] const FieldStack& states() const { return states_; }
  /// The state that was added last, or the one before it.
  [[nodiscard]] Field newest() const { return state(slot_before(jumps())); }
  [[nodiscard]] Field second_newest() const { return state(slot_before(jumps() - 1)); }
  [[nodiscard]] std::int64_t halo() const { return halo_; }

 private:
  [[nodiscard]] std::int64_t slots() const { return static_cast<std::int64_t>(states_.extent(0)); }
  [[nodiscard]] Field state(std::int64_t slot) const;

  Block block_;
  std::int64_t halo_;
  FieldStack states_;
  std::int64_t added_ = 0;
};

}  // namespace kadam::insitu
