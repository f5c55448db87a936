// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/phases.hpp>

namespace kadam {

const char* region_of(Phase phase) {
  constexpr std::array<const char*, phase_count> names = {"kadam::check", "kadam::encode", "kadam::exchange",
                                                          "kadam::decode"};
  return names[static_cast<std::size_t>(phase)];
}

Phases::Scope::Scope(Phases& phases, const ExecutionSpace& exec, Phase phase)
    : phases_(phases), exec_(exec), phase_(phase) {
  Kokkos::Profiling::pushRegion(region_of(phase));
}

Phases::Scope::~Scope() {
  if (phases_.measured_) {
    exec_.fence("kadam::Phases: end of a timed phase");
    phases_.seconds_[static_cast<std::size_t>(phase_)] += timer_.seconds();
  }
  Kokkos::Profiling::popRegion();
}

}  // namespace kadam
