// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// Whether all `teams` teams of a kernel but this one are done: true for all threads of one team, which then
/// reads what the others wrote. A kernel ends its own sum or search that way, without a second launch.
///
/// Every thread of every team calls it, once, after its team's last write that others read. `done` counts the
/// teams: 0 before the kernel and after it. Nobody waits for another team, so teams may run in any order.
template <class Member>
[[nodiscard]] KOKKOS_FUNCTION bool is_last_team(const Member& member, std::uint32_t& done,
                                                std::int64_t teams) {
  // Each thread's own writes come before the barrier for all of the device, not only for its team: a barrier
  // alone promises no more (on AMD, another wavefront's writes may still be under way behind it).
  Kokkos::memory_fence();
  member.barrier();
  int is_last = 0;
  Kokkos::single(
      Kokkos::PerTeam(member.team),
      [&](int& result) {
        // What the barrier made this thread know of is written before the count, which is relaxed by itself.
        Kokkos::memory_fence();
        const bool is_full = std::int64_t{Kokkos::atomic_fetch_add(&done, 1U)} + 1 == teams;
        if (is_full) done = 0;  // all have counted: only the next kernel reads it
        result = is_full ? 1 : 0;
      },
      is_last);
  // Nothing that is read from here on was read before the count, by any thread and from any cache.
  Kokkos::memory_fence();
  return is_last != 0;
}

}  // namespace kadam::detail
