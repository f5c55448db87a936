// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// Returns whether all `teams` teams of a kernel but this one are done: true for all threads of exactly one
/// team, which may then read the other teams' results. So a kernel finishes its own sum or search, without a
/// second launch.
///
/// Every thread of every team calls it, once, after its last write that the last team reads. `done` counts
/// the teams; it is 0 before the kernel and after it. No team waits for another, so teams may run in any
/// order.
template <class Member>
[[nodiscard]] KOKKOS_FUNCTION bool is_last_team(const Member& member, std::uint32_t& done,
                                                std::int64_t teams) {
  // Makes each thread's writes visible to the whole device before the barrier, which alone makes them visible
  // only to the team (on AMD, writes of another wavefront may still be under way behind it).
  Kokkos::memory_fence();
  member.barrier();
  int is_last = 0;
  Kokkos::single(
      Kokkos::PerTeam(member.team),
      [&](int& result) {
        // The team's writes, which this thread knows of since the barrier, come before the count: the atomic
        // operation alone is relaxed.
        Kokkos::memory_fence();
        const bool is_full = std::int64_t{Kokkos::atomic_fetch_add(&done, 1U)} + 1 == teams;
        if (is_full) done = 0;  // all teams have counted: only the next kernel reads it
        result = is_full ? 1 : 0;
      },
      is_last);
  // Reads after this fence see the writes that came before the counts, and no older value from a cache.
  Kokkos::memory_fence();
  return is_last != 0;
}

}  // namespace kadam::detail
