// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/history.hpp>

#include <algorithm>

namespace kadam::insitu {

History::History(const ExecutionSpace& exec, const Block& block, std::int64_t jumps, std::int64_t halo)
    : block_(block),
      halo_(halo),
      states_(Kokkos::view_alloc(exec, "kadam-insitu::history"), static_cast<std::size_t>(jumps + 1),
              static_cast<std::size_t>(species), static_cast<std::size_t>(block.height + 2 * halo),
              static_cast<std::size_t>(block.width + 2 * halo)) {}

void History::add(const ExecutionSpace& exec, const Field& field, std::int64_t field_halo,
                  HaloExchange& exchange) {
  const Field newest = state(added_ % slots());
  copy_cells(exec, block_, field, field_halo, newest, halo_);
  exchange(exec, newest);
  ++added_;
}

std::int64_t History::jumps() const {
  return std::max<std::int64_t>(0, std::min(added_, slots()) - 1);
}

std::int64_t History::slot_before(std::int64_t jump) const {
  return (added_ - 1 - jumps() + jump) % slots();
}

Field History::state(std::int64_t slot) const {
  return Kokkos::subview(states_, slot, Kokkos::ALL, Kokkos::ALL, Kokkos::ALL);
}

}  // namespace kadam::insitu
