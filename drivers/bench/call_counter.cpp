// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/call_counter.hpp>

#include <Kokkos_Core.hpp>

#include <map>
#include <mutex>
#include <stdexcept>
#include <string_view>

namespace kadam::bench {
namespace {

namespace tools = Kokkos::Tools::Experimental;

/// State of the callbacks, which are plain functions.
Calls counted;
Kokkos::Timer since_launch;
std::map<const void*, std::uint64_t> held;
std::mutex held_access;  // background exchanges may allocate

void count_launch(const char* /*label*/, std::uint32_t /*device*/, std::uint64_t* /*id*/) {
  ++counted.launches;
  since_launch.reset();
}
/// Kokkos has waited for the kernel.
void count_end(std::uint64_t /*id*/) {
  counted.kernel_seconds += since_launch.seconds();
}
/// Leaves out the fences around kernels that Kokkos adds for a tool: they are not part of a step.
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
  tools::set_end_parallel_for_callback(wanted ? count_end : nullptr);
  tools::set_end_parallel_reduce_callback(wanted ? count_end : nullptr);
  tools::set_end_parallel_scan_callback(wanted ? count_end : nullptr);
  tools::set_begin_deep_copy_callback(wanted ? count_copy : nullptr);
  tools::set_begin_fence_callback(wanted ? count_fence : nullptr);
}

void remember_view(Kokkos::Tools::SpaceHandle /*space*/, const char* label, const void* data,
                   std::uint64_t bytes) {
  if (std::string_view(label).starts_with("Kokkos::")) return;
  const std::lock_guard<std::mutex> lock(held_access);
  held[data] = bytes;
}
void forget_view(Kokkos::Tools::SpaceHandle /*space*/, const char* /*label*/, const void* data,
                 std::uint64_t /*bytes*/) {
  const std::lock_guard<std::mutex> lock(held_access);
  held.erase(data);
}

void require_no_tool() {
  if (!Kokkos::Tools::profileLibraryLoaded()) return;
  throw std::runtime_error(
      "kadam-bench counts the calls of Kokkos and cannot do so beside a tool: unset KOKKOS_TOOLS_LIBS");
}

}  // namespace

CallCounter::CallCounter() {
  require_no_tool();
  counted = {};
  set_callbacks(true);
}

CallCounter::~CallCounter() {
  set_callbacks(false);
}

Calls CallCounter::calls() const {
  return counted;
}

HeldMemory::HeldMemory() {
  require_no_tool();
  held.clear();
  tools::set_allocate_data_callback(remember_view);
  tools::set_deallocate_data_callback(forget_view);
}

HeldMemory::~HeldMemory() {
  tools::set_allocate_data_callback(nullptr);
  tools::set_deallocate_data_callback(nullptr);
}

std::size_t HeldMemory::bytes() const {
  const std::lock_guard<std::mutex> lock(held_access);
  std::size_t sum = 0;
  for (const auto& [data, bytes] : held) sum += bytes;
  return sum;
}

}  // namespace kadam::bench
