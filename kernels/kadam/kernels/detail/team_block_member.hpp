// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kadam::detail {

/// The shape of a team: its threads, the elements that each thread holds in registers, and the teams that a
/// multiprocessor must be able to run at the same time.
struct WideTeam {
  static constexpr int threads = team_threads;
  static constexpr int held = held_elements;
  static constexpr unsigned teams = teams_at_a_time;
};
/// The shape for short blocks: most threads of a WideTeam would have no element, and all would wait at its
/// barriers.
struct NarrowTeam {
  static constexpr int threads = narrow_team_threads;
  static constexpr int held = narrow_held_elements;
  static constexpr unsigned teams = narrow_teams_at_a_time;
};

/// The team that works on a block, on a GPU. All threads of the team call each function (merge(): any
/// thread). Every loop ends with a barrier, unless its comment says "No barrier".
///
/// Neighbouring threads take neighbouring elements, so that their common loads and stores are contiguous.
/// is_whole: the block has exactly held() elements, so that loops need not compare indices with its length.
/// Nearly all blocks are whole, and such comparisons are most of what a kernel would compute.
template <class Team, class Shape = WideTeam, bool is_whole_block = false>
struct TeamBlockMember {
  static constexpr bool is_one_thread = false;
  static constexpr bool is_whole = is_whole_block;
  static constexpr int held_by_thread = Shape::held;
  const Team& team;

  /// The same team, for a block that has exactly held() elements.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION TeamBlockMember<Team, Shape, true> whole() const {
    return {team};
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t threads() const {
    KOKKOS_IF_ON_DEVICE((return Shape::threads;))
    KOKKOS_IF_ON_HOST((return team.team_size();))
  }

  /// The number of this thread in its team.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION int rank() const { return team.team_rank(); }

  /// Elements that the team holds in its registers at a time.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t held() const { return Shape::held * threads(); }

  /// function(first) for first = 0, held(), 2 held(), ... below count: rounds of at most held() elements
  /// each. No barrier.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_round(std::int64_t count, const Function& function) const {
    if constexpr (is_whole) {
      function(std::int64_t{0});
    } else {
      for (std::int64_t first = 0; first < count; first += held()) function(first);
    }
  }

  /// function(j, k) for this thread's elements k of [first, first + held()) with k < count; j <
  /// held_by_thread is the register that holds element k. No barrier.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_held(std::int64_t first, std::int64_t count,
                                                 const Function& function) const {
    const std::int64_t own = first + rank();
    const std::int64_t left = count - own;
    KADAM_UNROLL
    for (int j = 0; j < held_by_thread; ++j) {
      if (is_whole || j * threads() < left) function(j, own + j * threads());
    }
  }

  /// use(k, load(k)) for this thread's share of k in [first, last). Each thread loads up to held_by_thread
  /// elements before it uses the first of them, so that several loads are under way. No barrier.
  template <class Load, class Use>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_loaded(std::int64_t first, std::int64_t last, const Load& load,
                                                   const Use& use) const {
    for (; first < last; first += held()) {
      std::remove_cvref_t<decltype(load(first))> own[held_by_thread];
      for_each_held(first, last, [&](const int j, const std::int64_t k) { own[j] = load(k); });
      for_each_held(first, last, [&](const int j, const std::int64_t k) { use(k, own[j]); });
    }
  }

  /// Returns the sum of `own` over all threads, to all of them.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION double sum_of_threads(double own) const {
    double sums[1] = {own};
    sum_all_of_threads(sums);
    return sums[0];
  }
  /// own[k] <- the sum of own[k] over all threads, for every k: the team waits once for all of them.
  template <int count>
  KOKKOS_FORCEINLINE_FUNCTION void sum_all_of_threads(double (&own)[count]) const {
    reduce<Kokkos::Sum<double>>(own);
  }
  /// Returns the largest `own` of all threads, or 0 if none is larger, to all of them.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float max_of_threads(float own) const {
    std::int32_t largest[1] = {Kokkos::bit_cast<std::int32_t>(own)};
    reduce<Kokkos::Max<std::int32_t>>(largest);
    return Kokkos::bit_cast<float>(largest[0] > 0 ? largest[0] : 0);
  }

  /// Returns own after own <- combine(own, function(k)) for this thread's share of k in [0, count). Computes
  /// at_a_time values before it combines them, so that several loads are under way. No barrier.
  template <int at_a_time = 8, class T, class Function, class Combine>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T fold(T own, std::int64_t count, const Function& function,
                                                   const Combine& combine) const {
    std::int64_t k = rank();
    if constexpr (at_a_time > 1) {
      KADAM_DO_NOT_UNROLL
      for (; k + (at_a_time - 1) * threads() < count; k += at_a_time * threads()) {
        decltype(function(k)) values[at_a_time];
        KADAM_UNROLL
        for (int j = 0; j < at_a_time; ++j) values[j] = function(k + j * threads());
        KADAM_UNROLL
        for (int j = 0; j < at_a_time; ++j) own = combine(own, values[j]);
      }
    }
    KADAM_DO_NOT_UNROLL
    for (; k < count; k += threads()) own = combine(own, function(k));
    return own;
  }

  KOKKOS_FORCEINLINE_FUNCTION void barrier() const { team.team_barrier(); }

  /// Memory for `count` elements that all threads of the team share, its content undefined. Each call gives
  /// further bytes of those that scratch_bytes() of the kernel's functor asks for: count 8 B more per call
  /// for alignment.
  template <class T>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T* scratch(std::int64_t count) const {
    return static_cast<T*>(
        team.team_scratch(0).get_shmem_aligned(static_cast<std::size_t>(count) * sizeof(T), 8));
  }

  /// A sum in double over all threads. add() adds a thread's share without a barrier; value() adds up the
  /// shares of all threads, which all call it.
  struct Sum {
    double own = 0.0;
    template <class Function>
    KOKKOS_FORCEINLINE_FUNCTION void add(const TeamBlockMember& member, std::int64_t count,
                                         const Function& function) {
      own = member.fold(own, count, function,
                        [](double so_far, auto value) { return so_far + static_cast<double>(value); });
    }
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION double value(const TeamBlockMember& member) const {
      return member.sum_of_threads(own);
    }
  };

  /// The largest value, as HostBlockMember::Max: 0 if none is larger; a NaN counts as the largest, unless its
  /// sign bit is set. add() has no barrier.
  struct Max {
    std::int32_t own = 0;
    template <class Function>
    KOKKOS_FORCEINLINE_FUNCTION void add(const TeamBlockMember& member, std::int64_t count,
                                         const Function& function) {
      own = member.fold(own, count, function, [](std::int32_t so_far, auto number) {
        const auto value = Kokkos::bit_cast<std::int32_t>(static_cast<float>(number));
        return value > so_far ? value : so_far;
      });
    }
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float value(const TeamBlockMember& member) const {
      return member.max_of_threads(Kokkos::bit_cast<float>(own));
    }
  };

  /// function(0, count): a team needs no parts. No barrier.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_part(std::int64_t count, const Function& function) const {
    function(std::int64_t{0}, count);
  }

  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(std::int64_t count, const Function& function) const {
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, count), function);
    team.team_barrier();
  }

  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION double sum(std::int64_t count, const Function& function) const {
    Sum sum;
    sum.add(*this, count, function);
    return sum.value(*this);
  }

  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION float max(std::int64_t count, const Function& function) const {
    Max max;
    max.add(*this, count, function);
    return max.value(*this);
  }

  /// The sum of the integers function(k) over k in [0, count), for all threads.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t total(std::int64_t count, const Function& function) const {
    std::int64_t own[1] = {fold(std::int64_t{0}, count, function,
                                [](std::int64_t so_far, std::int64_t value) { return so_far + value; })};
    reduce<Kokkos::Sum<std::int64_t>>(own);
    return own[0];
  }

  template <class Predicate>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t count(std::int64_t count, const Predicate& predicate) const {
    return total(count, [&](const std::int64_t k) { return predicate(k) ? 1 : 0; });
  }

  /// visit(k, sum of mark(j) over all j < k) for every k in [0, count) with mark(k) != 0. The visits are
  /// concurrent, and mark(k) may be called twice. Returns the sum of all marks.
  template <class Mark, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t for_each_marked(std::int64_t count, const Mark& mark,
                                                           const Visit& visit) const {
    std::int64_t total = 0;
    Kokkos::parallel_scan(
        Kokkos::TeamThreadRange(team, count),
        [&](const std::int64_t k, std::int64_t& before, const bool is_final) {
          const std::int64_t own = mark(k);
          if (is_final && own != 0) visit(k, before);
          before += own;
        },
        total);
    team.team_barrier();
    return total;
  }

  /// visit(k, number of j < k with flag(j)) for every k in [0, count) with flag(k); the visits are
  /// concurrent. Returns the number of visits. One scan over the team counts eight elements per thread, in
  /// the eight bytes of one number, so that the team waits once for all eight.
  template <class Flag, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t for_each_flagged(std::int64_t count, const Flag& flag,
                                                            const Visit& visit) const {
    constexpr int rows = 8;
    static_assert(Shape::threads < 256);
    std::int64_t before_rows = 0;
    for (std::int64_t first = 0; first < count; first += rows * threads()) {
      const std::int64_t own = first + rank();
      std::uint64_t flags = 0;
      KADAM_UNROLL
      for (int row = 0; row < rows; ++row) {
        const std::int64_t k = own + row * threads();
        if (k < count && flag(k)) flags |= std::uint64_t{1} << (8U * static_cast<unsigned>(row));
      }
      const std::uint64_t before = team.team_scan(flags);
      std::uint64_t all = before + flags;
      team.team_broadcast(all, static_cast<int>(threads()) - 1);
      // From one set flag to the next: few are set.
      for (std::uint64_t left = flags; left != 0; left &= left - 1) {
        const int bit = Kokkos::Experimental::countr_zero_builtin(left);
        const auto lower_rows = (std::uint64_t{1} << static_cast<unsigned>(bit)) - 1;
        const auto in_row = static_cast<std::int64_t>((before >> static_cast<unsigned>(bit)) & 255U);
        visit(own + bit / 8 * threads(), before_rows + sum_of_bytes(all & lower_rows) + in_row);
      }
      before_rows += sum_of_bytes(all);
    }
    team.team_barrier();
    return before_rows;
  }

  /// The sum of `own` over the threads with a lower rank.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t sum_before(std::int64_t own) const {
    return team.team_scan(own);
  }

  /// word |= bits, atomically; the result is the same in every run, because the order does not matter.
  template <class Word>
  KOKKOS_FORCEINLINE_FUNCTION void merge(Word& word, Word bits) const {
    Kokkos::atomic_or(&word, bits);
  }

  /// function(), called by one thread. No barrier.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Function& function) const {
    Kokkos::single(Kokkos::PerTeam(team), function);
  }

 private:
  /// own[k] <- what Reducer, one of Kokkos', makes of own[k] of all threads.
  template <class Reducer, class T, int count>
  KOKKOS_FORCEINLINE_FUNCTION void reduce(T (&own)[count]) const {
    KOKKOS_IF_ON_DEVICE((reduce_lanes<Reducer>(own);))
    KOKKOS_IF_ON_HOST((for (T& one : own) team.team_reduce(Reducer(one));))
  }

  /// The same on a GPU: first of each 32 neighbours, through their registers, then of these results in
  /// ascending order. It has two barriers for all values; team_reduce() has several for each of them.
  template <class Reducer, class T, int count>
  KOKKOS_FORCEINLINE_FUNCTION void reduce_lanes(T (&own)[count]) const {
    const Reducer reducer(own[0]);
    KADAM_UNROLL
    for (int k = 0; k < count; ++k) {
      KADAM_UNROLL
      for (int distance = narrow_team_threads / 2; distance > 0; distance /= 2) {
        reducer.join(own[k], of_other_lane(own[k], distance));
      }
    }
    if constexpr (Shape::threads > narrow_team_threads) {
      constexpr int groups = Shape::threads / narrow_team_threads;
      T* const of_groups = shared_by_team<T, groups * count>();
      if (rank() % narrow_team_threads == 0) {
        KADAM_UNROLL
        for (int k = 0; k < count; ++k) of_groups[rank() / narrow_team_threads * count + k] = own[k];
      }
      barrier();
      KADAM_UNROLL
      for (int k = 0; k < count; ++k) {
        own[k] = of_groups[k];
        KADAM_UNROLL
        for (int group = 1; group < groups; ++group) reducer.join(own[k], of_groups[group * count + k]);
      }
      barrier();
    }
  }

  /// The sum of the eight bytes of `bytes`, added in 16 bits, which are enough.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t sum_of_bytes(std::uint64_t bytes) {
    constexpr std::uint64_t every_other = 0x00ff00ff00ff00ffU;
    const std::uint64_t pairs = (bytes & every_other) + ((bytes >> 8U) & every_other);
    return static_cast<std::int64_t>((pairs * 0x0001000100010001U) >> 48U);
  }
};

}  // namespace kadam::detail
