// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/call_counter.hpp>

#include <Kokkos_Core.hpp>

#include <stdexcept>
#include <string_view>

namespace kadam::bench {
namespace {

namespace tools = Kokkos::Tools::Experimental;

/// Kokkos calls plain functions: what they write to.
Calls counted;

void count_launch(const char* /*label*/, std::uint32_t /*device*/, std::uint64_t* /*id*/) {
  ++counted.launches;
}
/// Kokkos fences around kernels because somebody listens: that is no part of a step.
void count_fence(const char* label, std::uint32_t /*device*/, std::uint64_t* /*id*/) {
  if (!std::string_view(label).starts_with("Kokkos::Tools::")) ++counted.fences;
}
void count_copy(Kokkos::Tools::SpaceHandle /*to*/, const char* /*to_name*/, const void* /*to_data*/,
                Kokkos::Tools::SpaceHandle /*from*/, const char* /*from_name*/, const void* /*from_data*/,
                std::uint64_t /*bytes*/) {
  ++counted.copies;
}

void set_callbacks(bool wanted) {
  tools::set_begin_parallel_for_callback(wanted ? count_launch : nullptr);
  tools::set_begin_parallel_reduce_callback(wanted ? count_launch : nullptr);
  tools::set_begin_parallel_scan_callback(wanted ? count_launch : nullptr);
  tools::set_begin_deep_copy_callback(wanted ? count_copy : nullptr);
  tools::set_begin_fence_callback(wanted ? count_fence : nullptr);
}

}  // namespace

CallCounter::CallCounter() {
  if (Kokkos::Tools::profileLibraryLoaded()) {
    throw std::runtime_error(
        "kadam-bench counts what Kokkos does, which a tool of KOKKOS_TOOLS_LIBS keeps it from");
  }
  counted = {};
  set_callbacks(true);
}

CallCounter::~CallCounter() {
  set_callbacks(false);
}

Calls CallCounter::calls() const {
  return counted;
}

}  // namespace kadam::bench
