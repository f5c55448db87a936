// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/host_block_member.hpp>
#include <kadam/kernels/detail/team_block_member.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// Loops over independent blocks of consecutive elements, written once for CPUs and GPUs.
///
/// On a CPU one thread works on a block with plain loops: the compiler vectorises them, and a second loop
/// finds the block in cache. Kokkos' per-element team loops and reductions do neither. On a GPU one team
/// works on a block. The result of a block does not depend on the number of threads: one thread (CPU) or one
/// team of fixed size (GPU) sums it.
///
/// A kernel is a functor that gets a member, HostBlockMember or TeamBlockMember, and the index of a block.
/// One functor serves both if it uses what both have: for_each_part, for_each, Sum, Max, sum, max, count,
/// for_each_marked, merge and once.

namespace kadam::detail {

template <class Function>
struct HostBlockLoop {
  Function function;
  KOKKOS_FUNCTION void operator()(const std::int64_t block) const { function(HostBlockMember{}, block); }
};

template <class Function, class Shape>
struct TeamBlockLoop {
  Function function;
  std::int64_t first;
  template <class Team>
  KOKKOS_FUNCTION void operator()(const Team& team) const {
    function(TeamBlockMember<Team, Shape>{team}, first + team.league_rank());
  }
};

/// The teams of a kernel that a multiprocessor must be able to run at the same time: Function::least_teams,
/// or Shape::teams.
template <class Function, class Shape>
[[nodiscard]] constexpr unsigned least_teams() {
  if constexpr (requires { Function::least_teams; }) {
    return Function::least_teams;
  } else {
    return Shape::teams;
  }
}

/// function(member, block) for every block in [first, last), in one kernel on exec; does not wait for it.
///
/// Function: a functor that can run on the device; its call operator takes both members, or the one that Exec
/// needs. If it has a static scratch_bytes(threads of a team), a team gets that many bytes for scratch(). If
/// it has a static least_teams, this takes the place of Shape::teams. Where teams run it, it has at most
/// 3800 B with the data of the loop, and last - first < 2^31.
template <class Shape = WideTeam, class Exec, class Function>
void for_each_block(const std::string& label, const Exec& exec, std::int64_t first, std::int64_t last,
                    const Function& function) {
  if (first >= last) return;
  if constexpr (one_thread_per_block<Exec>) {
    using Policy =
        Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(label, Policy(exec, first, last), HostBlockLoop<Function>{function});
  } else {
    // HintLightWeight: the functor travels with the launch, as arguments of the kernel. Without the hint one
    // of 512 B or more would go through constant memory, and the host would wait for the kernel before.
    static_assert(sizeof(TeamBlockLoop<Function, Shape>) <= 3800,
                  "more than the arguments of a kernel may take");
    const int team_size =
        runs_on_host<Exec> ? Kokkos::min(host_team_threads, exec.concurrency()) : Shape::threads;
    using Bounds = Kokkos::LaunchBounds<Shape::threads, least_teams<Function, Shape>()>;
    Kokkos::TeamPolicy<Exec, Bounds> policy(exec, static_cast<int>(last - first), team_size);
    if constexpr (requires { Function::scratch_bytes(team_size); }) {
      policy.set_scratch_size(0,
                              Kokkos::PerTeam(static_cast<std::size_t>(Function::scratch_bytes(team_size))));
    }
    Kokkos::parallel_for(
        label, Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight),
        TeamBlockLoop<Function, Shape>{function, first});
  }
}

}  // namespace kadam::detail
