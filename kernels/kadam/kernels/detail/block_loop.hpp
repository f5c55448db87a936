// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

/// Loops over independent blocks of consecutive elements, written once for CPUs and GPUs.
///
/// On a CPU one thread walks a block with plain loops, which the compiler vectorises and which find the block
/// in cache when they come back to it; Kokkos' per-element team loops and reductions do neither. On a GPU one
/// team takes a block. Block results do not depend on the number of threads: each block is summed by one
/// thread (CPU) or by one team of fixed size (GPU).

namespace kadam::detail {

/// The one thread that works on a block of a CPU.
struct HostBlockMember {
  static constexpr bool is_one_thread = true;

  /// function(first, length) for parts of a block that stay in the innermost cache while they are worked on.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_part(std::int64_t count, const Function& function) const {
    for (std::int64_t first = 0; first < count; first += tile_elements) {
      function(first, Kokkos::min(tile_elements, count - first));
    }
  }

  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(std::int64_t count, const Function& function) const {
    KADAM_SIMD
    for (std::int64_t k = 0; k < count; ++k) function(k);
  }

  /// Sum in double, over a fixed number of lanes: the order is the same for every vector length, and for
  /// every way to cut the elements into parts of whole lanes.
  struct Sum {
    static constexpr int lanes = sum_lanes;
    double partial[lanes] = {};

    template <class Function>
    KOKKOS_FORCEINLINE_FUNCTION void add(const HostBlockMember& /*member*/, std::int64_t count,
                                         const Function& function) {
      accumulate(count, [&](const double sum, const std::int64_t k) {
        return sum + static_cast<double>(function(k));
      });
    }
    /// partial sum <- function(partial sum, k)
    template <class Function>
    KOKKOS_FORCEINLINE_FUNCTION void accumulate(std::int64_t count, const Function& function) {
      std::int64_t k = 0;
      for (; k + lanes <= count; k += lanes) {
        KADAM_SIMD
        for (int lane = 0; lane < lanes; ++lane) partial[lane] = function(partial[lane], k + lane);
      }
      for (int lane = 0; k < count; ++k, ++lane) partial[lane] = function(partial[lane], k);
    }
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION double value(const HostBlockMember& /*member*/) const {
      double total = 0.0;
      for (const double of_lane : partial) total += of_lane;
      return total;
    }
  };

  /// Largest value, 0 if none is larger. Compared as integers, of the same order for numbers >= 0: a float
  /// maximum has to mind NaNs and is not vectorised.
  struct Max {
    std::int32_t largest = 0;

    template <class Function>
    KOKKOS_FORCEINLINE_FUNCTION void add(const HostBlockMember& /*member*/, std::int64_t count,
                                         const Function& function) {
      std::int32_t so_far = largest;
      KADAM_SIMD
      for (std::int64_t k = 0; k < count; ++k) {
        const auto value = Kokkos::bit_cast<std::int32_t>(static_cast<float>(function(k)));
        so_far = value > so_far ? value : so_far;
      }
      largest = so_far;
    }
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float value(const HostBlockMember& /*member*/) const {
      return Kokkos::bit_cast<float>(largest);
    }
  };

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

  /// How many k satisfy the predicate. At most 2^31 - 1 elements: narrow counters vectorise better.
  template <class Predicate>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t count(std::int64_t count, const Predicate& predicate) const {
    std::int32_t total = 0;
    for (std::int64_t k = 0; k < count; ++k) total += predicate(k) ? 1 : 0;
    return total;
  }

  /// visit(k, sum of the marks before k), in ascending order, for every k whose mark is not 0.
  template <class Mark, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_marked(std::int64_t count, const Mark& mark,
                                                   const Visit& visit) const {
    std::int64_t before = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t own = mark(k);
      if (own == 0) continue;
      visit(k, before);
      before += own;
    }
  }

  /// ++bins(bin_of(k)) for every k whose bin is not negative.
  template <class Bins, class BinOf>
  KOKKOS_FORCEINLINE_FUNCTION void tally(std::int64_t count, const Bins& bins, const BinOf& bin_of) const {
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t bin = bin_of(k);
      if (bin >= 0) ++bins(bin);
    }
  }

  /// word |= bits, for a word that other threads of this block may write to as well.
  template <class Word>
  KOKKOS_FORCEINLINE_FUNCTION void merge(Word& word, Word bits) const {
    word |= bits;
  }

  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Function& function) const {
    function();
  }
};

/// Threads of a team, elements that each holds in registers, and how many teams a multiprocessor takes.
struct WideTeam {
  static constexpr int threads = team_threads;
  static constexpr int held = held_elements;
  static constexpr unsigned teams = teams_at_a_time;
};
/// For short blocks: a team of WideTeam would be idle for the most part, and wait for itself.
struct NarrowTeam {
  static constexpr int threads = narrow_team_threads;
  static constexpr int held = narrow_held_elements;
  static constexpr unsigned teams = narrow_teams_at_a_time;
};

/// The team that works on a block of a GPU. Every loop ends with a barrier, unless it says that it does not.
///
/// Neighbouring threads take neighbouring elements, so that what they load and store together is contiguous.
/// A block that fills the registers of its team exactly, is_whole, needs no look at its length: nearly all
/// blocks are, and such looks are most of what a kernel would compute.
template <class Team, class Shape = WideTeam, bool is_whole_block = false>
struct TeamBlockMember {
  static constexpr bool is_one_thread = false;
  static constexpr bool is_whole = is_whole_block;
  static constexpr int held_by_thread = Shape::held;
  const Team& team;

  /// The same team for a block of held() elements.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION TeamBlockMember<Team, Shape, true> whole() const {
    return {team};
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t threads() const {
    KOKKOS_IF_ON_DEVICE((return Shape::threads;))
    KOKKOS_IF_ON_HOST((return team.team_size();))
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION int rank() const { return team.team_rank(); }

  /// Elements that the team holds in its registers at a time.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t held() const { return Shape::held * threads(); }

  /// function(first element) for parts of at most held() elements, which begin at 0, held(), ...
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_round(std::int64_t count, const Function& function) const {
    if constexpr (is_whole) {
      function(std::int64_t{0});
    } else {
      for (std::int64_t first = 0; first < count; first += held()) function(first);
    }
  }

  /// function(j, k) for the elements k of [first, first + held()) below `count` that this thread holds, each
  /// in its own register j < held_by_thread. No barrier.
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

  /// use(k, load(k)) for this thread's share of k in [first, last). All that its registers hold is loaded
  /// before it is used: memory is busy meanwhile. No barrier.
  template <class Load, class Use>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_loaded(std::int64_t first, std::int64_t last, const Load& load,
                                                   const Use& use) const {
    for (; first < last; first += held()) {
      std::remove_cvref_t<decltype(load(first))> own[held_by_thread];
      for_each_held(first, last, [&](const int j, const std::int64_t k) { own[j] = load(k); });
      for_each_held(first, last, [&](const int j, const std::int64_t k) { use(k, own[j]); });
    }
  }

  /// The sum, and the largest, of one value of each thread, for all of them; 0 if none is larger.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION double sum_of_threads(double own) const {
    team.team_reduce(Kokkos::Sum<double>(own));
    return own;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float max_of_threads(float own) const {
    auto largest = Kokkos::bit_cast<std::int32_t>(own);
    KOKKOS_IF_ON_DEVICE((if constexpr (Shape::threads == narrow_team_threads) {
      KADAM_UNROLL
      for (int distance = Shape::threads / 2; distance > 0; distance /= 2) {
        largest = Kokkos::max(largest, of_other_lane(largest, distance));
      }
      return Kokkos::bit_cast<float>(largest > 0 ? largest : 0);
    }))
    team.team_reduce(Kokkos::Max<std::int32_t>(largest));
    return Kokkos::bit_cast<float>(largest > 0 ? largest : 0);
  }

  /// own <- combine(own, function(k)) over this thread's share of k in [0, count). No barrier. at_a_time
  /// values are asked for before they are combined: memory is busy meanwhile.
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

  /// Memory that the threads of the team share, of the bytes that scratch_bytes() of the kernel's functor
  /// says. To be asked for once.
  template <class T>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T* scratch(std::int64_t count) const {
    return static_cast<T*>(
        team.team_scratch(0).get_shmem_aligned(static_cast<std::size_t>(count) * sizeof(T), 8));
  }

  /// A thread's own share is added without a barrier; value() waits for all of them.
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

  /// Compared as integers, as on a CPU: a NaN is the largest on both.
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

  /// The sum of integers.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t total(std::int64_t count, const Function& function) const {
    std::int64_t own = fold(std::int64_t{0}, count, function,
                            [](std::int64_t so_far, std::int64_t value) { return so_far + value; });
    team.team_reduce(Kokkos::Sum<std::int64_t>(own));
    return own;
  }

  template <class Predicate>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t count(std::int64_t count, const Predicate& predicate) const {
    return total(count, [&](const std::int64_t k) { return predicate(k) ? 1 : 0; });
  }

  /// The visits are concurrent; what they are told is the same as on a CPU. Returns the sum of all marks.
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

  /// visit(k, how many flags before k are set) for every k whose flag is set; the visits are concurrent.
  /// Returns how many there are. Eight rows of a team's threads are counted in eight bytes of one number: a
  /// team waits for itself once for all of them.
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
      // Few flags are set: from one to the next.
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

  /// The sum of the values of the threads before this one.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t sum_before(std::int64_t own) const {
    return team.team_scan(own);
  }

  /// Atomic, and yet the same in every run: the order of bits does not matter.
  template <class Word>
  KOKKOS_FORCEINLINE_FUNCTION void merge(Word& word, Word bits) const {
    Kokkos::atomic_or(&word, bits);
  }

  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Function& function) const {
    Kokkos::single(Kokkos::PerTeam(team), function);
  }

 private:
  /// In 16 bits, which eight bytes do not exceed.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t sum_of_bytes(std::uint64_t bytes) {
    constexpr std::uint64_t every_other = 0x00ff00ff00ff00ffU;
    const std::uint64_t pairs = (bytes & every_other) + ((bytes >> 8U) & every_other);
    return static_cast<std::int64_t>((pairs * 0x0001000100010001U) >> 48U);
  }
};

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

/// Teams of this functor that a multiprocessor takes at a time at least.
template <class Function, class Shape>
[[nodiscard]] constexpr unsigned least_teams() {
  if constexpr (requires { Function::least_teams; }) {
    return Function::least_teams;
  } else {
    return Shape::teams;
  }
}

/// function(member, block) for every block in [first, last).
///
/// Function: a functor whose call operator is a template over the member and can run on the device. Its
/// static scratch_bytes(threads of a team), if there is such a function, is what scratch() gives out; its
/// static least_teams takes the place of Shape::teams.
template <class Shape = WideTeam, class Exec, class Function>
void for_each_block(const std::string& label, const Exec& exec, std::int64_t first, std::int64_t last,
                    const Function& function) {
  if (first >= last) return;
  if constexpr (one_thread_per_block<Exec>) {
    using Policy =
        Kokkos::RangePolicy<Exec, Kokkos::Schedule<Kokkos::Static>, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for(label, Policy(exec, first, last), HostBlockLoop<Function>{function});
  } else {
    // Arguments of a kernel travel with its launch: a functor of 512 B or more would go through constant
    // memory, for which the host waits until the kernel before is done.
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
