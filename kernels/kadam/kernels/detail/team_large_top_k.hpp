// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/grouped_block.hpp>
#include <kadam/kernels/detail/team_tally.hpp>
#include <kadam/kernels/top_k.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

/// LargeTopK by the teams of a GPU, each with a part of the vector. Seven kernels, which are launched without
/// waiting: TallyLargest, TallyLargestAgain (these find the bound), ListReaching, TallyReaching for digits 1
/// and 2 (these find the k-th largest), MarkPart, SelectReaching. Neighbouring threads read neighbouring
/// elements.
namespace kadam::detail {

/// The number of groups whose elements a team of `threads` threads holds in registers.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t team_groups(std::int64_t threads) {
  static_assert(std::int64_t{held_elements} * team_threads % top_k_group == 0);
  return threads * held_elements / top_k_group;
}

/// A long block in parts of whole groups, one part for each team; with a list in each part of the elements
/// that may be among the k largest.
template <class MemorySpace>
struct TopKParts {
  /// Groups among which for_each_reaching() looks at a time.
  static constexpr std::int64_t groups_at_a_time = 1024;

  Kokkos::View<const float*, MemorySpace> values;
  Kokkos::View<std::int32_t*, MemorySpace> largest;  ///< magnitude of each group
  Kokkos::View<Candidate*, MemorySpace>
      candidates;  ///< all lists: that of a part begins at the index of its first group
  Kokkos::View<std::int64_t*, MemorySpace> listed;  ///< length of each part's list; -1: the part has no list
  std::int64_t parts;
  std::int64_t part_groups;  ///< groups of a part; the last parts may have fewer

  [[nodiscard]] KOKKOS_FUNCTION std::int64_t elements() const {
    return static_cast<std::int64_t>(values.extent(0));
  }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t groups() const {
    constexpr std::int64_t size = top_k_group;
    return (elements() + size - 1) / size;
  }
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t first_group(std::int64_t part) const {
    return Kokkos::min(part * part_groups, groups());
  }

  /// The elements that a part's list has room for: one per group, a 32nd of the part.
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t room(std::int64_t part) const {
    return first_group(part + 1) - first_group(part);
  }
  /// Element c of a part's list.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Candidate& listed_at(std::int64_t part, std::int64_t c) const {
    return candidates(first_group(part) + c);
  }

  /// Finds the groups of a part whose largest magnitude reaches the bound. Calls visit(first, count) for some
  /// of them at a time, in ascending order: they are groups first + list[0], ... first + list[count - 1].
  /// list is scratch memory of the team for groups_at_a_time numbers.
  template <class Member, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_reaching(const Member& member, std::int64_t part,
                                                     std::int32_t bound, std::uint32_t* list,
                                                     const Visit& visit) const {
    constexpr std::int64_t at_a_time = groups_at_a_time;
    const std::int64_t end = first_group(part + 1);
    for (std::int64_t first = first_group(part); first < end; first += at_a_time) {
      const std::int64_t count = member.for_each_flagged(
          Kokkos::min(at_a_time, end - first),
          [&](const std::int64_t g) { return largest(first + g) >= bound; },
          [&](const std::int64_t g, const std::int64_t before) {
            list[before] = static_cast<std::uint32_t>(g);
          });
      if (count == 0) continue;
      visit(first, count);
      member.barrier();  // the next groups overwrite the list
    }
  }

  /// The index in the block of element t of the groups that for_each_reaching() gave to visit(first, count),
  /// 0 <= t < 32 count. The block's last group may be shorter: the index may lie behind its end.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t element(std::int64_t first,
                                                                        const std::uint32_t* list,
                                                                        std::int64_t t) {
    constexpr std::int64_t size = top_k_group;
    return (first + list[t / size]) * size + t % size;
  }
};

/// Reads all elements, writes the largest magnitude of each group into block.largest, and finds the first
/// digit of the bound: of the k-th largest of the groups' largest magnitudes, which the k largest elements
/// reach.
template <class MemorySpace>
struct TallyLargest {
  static constexpr unsigned least_teams = top_k_teams_at_a_time;

  TopKParts<MemorySpace> block;
  DigitSearch<MemorySpace> search;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    constexpr std::int64_t size = top_k_group;
    auto* const memory = member.template scratch<std::uint32_t>(words(member.threads()));
    const TeamTally<0> tally(member, memory);
    const std::int64_t end = Kokkos::min(block.first_group(part + 1) * size, block.elements());
    for (std::int64_t first = block.first_group(part) * size; first < end; first += member.held()) {
      look_at(member, first, Kokkos::min(member.held(), end - first), tally, memory + tally.words);
    }
    search.finish(member, tally, block.parts);
  }

  [[nodiscard]] static int scratch_bytes(int threads) { return static_cast<int>(words(threads)) * 4 + 8; }

 private:
  /// Words of scratch memory that a group takes: one more than it needs. Otherwise threads that each look for
  /// the largest of a group would all read the same bank.
  static constexpr std::int64_t group_words = top_k_group + 1;
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::uint32_t place_of(std::int64_t k) {
    const auto element = static_cast<std::uint32_t>(k);  // 32 bits: fewer registers
    return element + element / static_cast<std::uint32_t>(top_k_group);
  }

  [[nodiscard]] static KOKKOS_FUNCTION std::int64_t words(std::int64_t threads) {
    return TeamTally<0>::words + team_groups(threads) * group_words;
  }

  /// Writes and counts the largest magnitudes of the groups in elements [first, first + count), which the
  /// team holds.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void look_at(const Member& member, std::int64_t first, std::int64_t count,
                                           const TeamTally<0>& tally, std::uint32_t* magnitudes) const {
    constexpr std::int64_t size = top_k_group;
    std::uint32_t own[held_elements] = {};
    member.for_each_held(0, count, [&](const int j, const std::int64_t k) {
      own[j] = static_cast<std::uint32_t>(magnitude_of(block.values(first + k)));
    });
    // Zeros behind the last element, so that all groups are of one length.
    member.for_each_held(0, member.held(),
                         [&](const int j, const std::int64_t k) { magnitudes[place_of(k)] = own[j]; });
    member.barrier();
    member.for_each((count + size - 1) / size, [&](const std::int64_t g) {
      std::uint32_t largest = 0;
      KADAM_UNROLL
      for (std::int64_t k = 0; k < size; ++k) {
        largest = Kokkos::max(largest, magnitudes[g * group_words + k]);
      }
      block.largest(first / size + g) = static_cast<std::int32_t>(largest);
      tally.count(MagnitudeDigit<0>::bin(static_cast<std::int32_t>(largest), 0));
    });
  }
};

/// Finds the second digit of the bound, from block.largest.
template <class MemorySpace>
struct TallyLargestAgain {
  static constexpr unsigned least_teams = top_k_teams_at_a_time;

  TopKParts<MemorySpace> block;
  DigitSearch<MemorySpace> search;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    const TeamTally<1> tally(member, member.template scratch<std::uint32_t>(TeamTally<1>::words));
    const std::int32_t prefix = search.found(0).prefix;
    const std::int64_t end = block.first_group(part + 1);
    member.for_each_loaded(
        block.first_group(part), end, [&](const std::int64_t group) { return block.largest(group); },
        [&](const std::int64_t, const std::int32_t largest) {
          const std::int32_t bin = MagnitudeDigit<1>::bin(largest, prefix);
          if (bin >= 0) tally.count(bin);
        });
    member.barrier();
    search.finish(member, tally, block.parts);
  }

  [[nodiscard]] static int scratch_bytes(int /*threads*/) {
    return static_cast<int>(TeamTally<1>::words * sizeof(std::uint32_t)) + 8;
  }
};

/// Lists the elements of a part that reach the bound, in ascending order, and finds the first digit of the
/// k-th largest element. A part with more such elements than its list has room for (many equal ones, or a
/// large k) has no list.
template <class MemorySpace>
struct ListReaching {
  static constexpr unsigned least_teams = top_k_teams_at_a_time;

  TopKParts<MemorySpace> block;
  DigitSearch<MemorySpace> search;
  Kokkos::View<const FoundDigits*, MemorySpace> bound_of_groups;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    constexpr std::int64_t size = top_k_group;
    auto* const memory = member.template scratch<std::uint32_t>(words);
    const TeamTally<0> tally(member, memory);
    std::uint32_t* const groups = memory + tally.words;
    // With more elements to select than groups, the groups' largest magnitudes give no bound.
    const bool is_bounded = search.k <= block.groups();
    const std::int32_t bound = is_bounded ? bound_of_groups(1).prefix << MagnitudeDigit<1>::shift : 0;
    const std::int64_t room = block.room(part);
    std::int64_t count = 0;
    block.for_each_reaching(member, part, bound, groups, [&](const std::int64_t group, const std::int64_t n) {
      const auto magnitude_at = [&](const std::int64_t t) {
        const std::int64_t i = block.element(group, groups, t);
        return i < block.elements() ? magnitude_of(block.values(i)) : -1;
      };
      count += member.for_each_flagged(
          n * size, [&](const std::int64_t t) { return magnitude_at(t) >= bound; },
          [&](const std::int64_t t, const std::int64_t before) {
            const std::int64_t i = block.element(group, groups, t);
            const float value = block.values(i);
            tally.count(MagnitudeDigit<0>::bin(magnitude_of(value), 0));
            if (count + before < room)
              block.listed_at(part, count + before) = {static_cast<std::uint32_t>(i), value};
          });
    });
    member.once([&] { block.listed(part) = count <= room ? count : -1; });
    search.finish(member, tally, block.parts);
  }

  [[nodiscard]] static int scratch_bytes(int /*threads*/) { return static_cast<int>(words) * 4 + 8; }

 private:
  static constexpr std::int64_t words = TeamTally<0>::words + TopKParts<MemorySpace>::groups_at_a_time;
};

/// Finds a further digit of the k-th largest element, from the listed elements or, in a part without a list,
/// from the elements of the groups that reach the prefix that is found.
template <class MemorySpace, int Digit>
struct TallyReaching {
  static constexpr unsigned least_teams = top_k_teams_at_a_time;

  TopKParts<MemorySpace> block;
  DigitSearch<MemorySpace> search;
  Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, MemorySpace>
      rows;  ///< rows(part, bin) <- the counts of each part; none are written if it is empty

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    constexpr std::int64_t size = top_k_group;
    auto* const memory = member.template scratch<std::uint32_t>(words);
    const TeamTally<Digit> tally(member, memory);
    std::uint32_t* const list = memory + tally.words;
    const std::int32_t prefix = search.found(Digit - 1).prefix;
    const std::int32_t bound = prefix << MagnitudeDigit<Digit - 1>::shift;
    if (const std::int64_t listed = block.listed(part); listed >= 0) {
      member.for_each(listed, [&](const std::int64_t c) {
        const std::int32_t bin =
            MagnitudeDigit<Digit>::bin(magnitude_of(block.listed_at(part, c).value), prefix);
        if (bin >= 0) tally.count(bin);
      });
    } else {
      block.for_each_reaching(member, part, bound, list,
                              [&](const std::int64_t group, const std::int64_t count) {
                                look_at(member, group, list, count * size, prefix, tally);
                              });
    }
    if (rows.extent(0) > 0) {
      member.for_each(tally.words, [&](const std::int64_t bin) { rows(part, bin) = tally[bin]; });
    }
    search.finish(member, tally, block.parts);
  }

  [[nodiscard]] static int scratch_bytes(int /*threads*/) { return static_cast<int>(words) * 4 + 8; }

 private:
  static constexpr std::int64_t words = TeamTally<Digit>::words + TopKParts<MemorySpace>::groups_at_a_time;

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void look_at(const Member& member, std::int64_t group,
                                           const std::uint32_t* list, std::int64_t count, std::int32_t prefix,
                                           const TeamTally<Digit>& tally) const {
    member.for_each_loaded(
        0, count,
        [&](const std::int64_t t) {
          const std::int64_t i = block.element(group, list, t);
          return i < block.elements() ? magnitude_of(block.values(i)) : std::int32_t{-1};
        },
        [&](const std::int64_t, const std::int32_t magnitude) {
          const std::int32_t bin = MagnitudeDigit<Digit>::bin(magnitude, prefix);
          if (bin >= 0) tally.count(bin);
        });
  }
};

/// marks(part) <- the sum of MagnitudeCut::mark() over the elements of the part, from its counts of the last
/// digit (rows). Also sets the part's share of the message's index words to 0.
template <class MemorySpace>
struct MarkPart {
  Kokkos::View<const std::uint32_t**, Kokkos::LayoutRight, MemorySpace> rows;
  Kokkos::View<const FoundDigits*, MemorySpace> found;
  Kokkos::View<std::int64_t*, MemorySpace> marks;
  Words<MemorySpace> message;
  std::int64_t parts;
  std::int64_t first_word;  ///< the first index word of the message
  std::int64_t words;       ///< index words of the message

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    constexpr std::int64_t bins = MagnitudeDigit<2>::bins;
    const std::int64_t threshold = found(2).prefix & (bins - 1);
    const std::int64_t sum = member.total(bins + 1, [&](const std::int64_t bin) {
      const auto own = std::int64_t{rows(part, bin)};
      return bin > threshold ? own << 32 : (bin == threshold ? own : 0);
    });
    member.once([&] { marks(part) = sum; });
    const std::int64_t first = words * part / parts;
    member.for_each(words * (part + 1) / parts - first,
                    [&](const std::int64_t w) { message(first_word + first + w) = 0; });
  }
};

/// Writes the selected elements of a part into the message, in ascending order of their index.
template <class MemorySpace>
struct SelectReaching {
  /// One team fewer than of other kernels: it takes more than the 80 registers that leave room for six.
  static constexpr unsigned least_teams = top_k_teams_at_a_time - 1;

  TopKParts<MemorySpace> block;
  SparseMap::Block place;
  EntryWriter<MemorySpace> writer;
  Kokkos::View<const FoundDigits*, MemorySpace> found;
  Kokkos::View<const std::int64_t*, MemorySpace> marks;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    constexpr std::int64_t size = top_k_group;
    const MagnitudeCut cut{found(2).prefix, found(2).wanted};
    const Tile tile(member);
    std::int64_t before = member.total(part, [&](const std::int64_t p) { return marks(p); });
    if (const std::int64_t listed = block.listed(part); listed >= 0) {
      (void)member.for_each_marked(
          listed,
          [&](const std::int64_t c) { return cut.mark(magnitude_of(block.listed_at(part, c).value)); },
          [&](const std::int64_t c, const std::int64_t before_in_part) {
            const Candidate one = block.listed_at(part, c);
            const std::int64_t own_before = before + before_in_part;
            if (cut.selects(magnitude_of(one.value), own_before))
              writer.write(member, place, cut.selected(own_before), std::int64_t{one.index}, one.value);
          });
      return;
    }
    block.for_each_reaching(member, part, cut.threshold, tile.list,
                            [&](const std::int64_t group, const std::int64_t count) {
                              for (std::int64_t first = 0; first < count * size; first += member.held()) {
                                before += select(member, tile, group, first, count * size, cut, before);
                              }
                            });
  }

  [[nodiscard]] static int scratch_bytes(int threads) {
    return static_cast<int>(Tile::words(threads)) * static_cast<int>(sizeof(std::int64_t)) + 8;
  }

 private:
  /// Scratch memory of a team: marks of the elements that it holds, and the groups that they belong to.
  struct Tile {
    std::int64_t* before;  ///< marks before each group of the tile
    std::uint32_t* above;  ///< a mask for each group: its elements above the threshold
    std::uint32_t* equal;  ///< a mask for each group: its elements equal to the threshold
    std::uint32_t* list;   ///< groups that reach the threshold, for for_each_reaching()
    std::uint8_t* mark;    ///< of each element: 2 above the threshold, 1 equal to it, 0 below

    template <class Member>
    KOKKOS_FUNCTION explicit Tile(const Member& member)
        : before(member.template scratch<std::int64_t>(words(member.threads()))),
          above(reinterpret_cast<std::uint32_t*>(before + team_groups(member.threads()))),
          equal(above + team_groups(member.threads())),
          list(equal + team_groups(member.threads())),
          mark(reinterpret_cast<std::uint8_t*>(list + TopKParts<MemorySpace>::groups_at_a_time)) {}

    /// The size of a Tile in words of 8 bytes.
    [[nodiscard]] static KOKKOS_FUNCTION std::int64_t words(std::int64_t threads) {
      constexpr std::int64_t listed = TopKParts<MemorySpace>::groups_at_a_time;
      return 2 * team_groups(threads) + (listed + 1) / 2 + (threads * held_elements + 7) / 8;
    }
  };

  /// Writes the selected ones of elements [first, first + member.held()) below `end`, as TopKParts::element()
  /// counts them from `group` on. before: the sum of the marks of all elements before these; returns the sum
  /// of the marks of these.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t select(const Member& member, const Tile& tile, std::int64_t group,
                                                  std::int64_t first, std::int64_t end,
                                                  const MagnitudeCut& cut, std::int64_t before) const {
    constexpr std::int64_t size = top_k_group;
    // A zero behind the block's end comes after all elements that equal a threshold of 0: it is not selected.
    float own[held_elements];
    member.for_each_held(first, end, [&](const int j, const std::int64_t t) {
      const std::int64_t i = block.element(group, tile.list, t);
      own[j] = i < block.elements() ? block.values(i) : 0.0F;
    });
    member.for_each_held(first, end, [&](const int j, const std::int64_t t) {
      const std::int32_t magnitude = magnitude_of(own[j]);
      const bool is_above = magnitude > cut.threshold;
      const bool is_equal = magnitude == cut.threshold;
      tile.mark[t - first] = static_cast<std::uint8_t>(is_above ? 2 : (is_equal ? 1 : 0));
    });
    member.barrier();
    const std::int64_t groups = (Kokkos::min(member.held(), end - first) + size - 1) / size;
    member.for_each(groups, [&](const std::int64_t g) { fill_masks(tile, g); });
    const std::int64_t total = member.for_each_marked(
        groups, [&](const std::int64_t g) { return marks_of(tile.above[g], tile.equal[g]); },
        [&](const std::int64_t g, const std::int64_t marks_before) { tile.before[g] = marks_before; });
    member.for_each_held(first, end, [&](const int j, const std::int64_t t) {
      const std::int64_t g = (t - first) / size;
      const std::uint32_t bit = 1U << static_cast<unsigned>(t % size);
      if (((tile.above[g] | tile.equal[g]) & bit) == 0) return;
      const std::int64_t own_before =
          before + tile.before[g] + marks_of(tile.above[g] & (bit - 1), tile.equal[g] & (bit - 1));
      if (cut.selects(magnitude_of(own[j]), own_before))
        writer.write(member, place, cut.selected(own_before), block.element(group, tile.list, t), own[j]);
    });
    return total;
  }

  static KOKKOS_FORCEINLINE_FUNCTION void fill_masks(const Tile& tile, std::int64_t g) {
    std::uint32_t above = 0;
    std::uint32_t equal = 0;
    for (unsigned e = 0; e < top_k_group; ++e) {
      const std::uint32_t mark = tile.mark[g * top_k_group + e];
      above |= (mark >> 1U) << e;
      equal |= (mark & 1U) << e;
    }
    tile.above[g] = above;
    tile.equal[g] = equal;
  }

  /// The sum of MagnitudeCut::mark() over the elements of both masks.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION std::int64_t marks_of(std::uint32_t above,
                                                                         std::uint32_t equal) {
    return (std::int64_t{Kokkos::Experimental::popcount_builtin(above)} << 32) +
           Kokkos::Experimental::popcount_builtin(equal);
  }
};

/// The number of parts for which a TeamLargeTopK for blocks of up to `elements` elements has memory.
[[nodiscard]] inline std::int64_t team_top_k_parts(std::int64_t elements) {
  constexpr std::int64_t size = top_k_part_elements;
  return std::clamp((elements + size - 1) / size, std::int64_t{1}, top_k_parts);
}

/// The number of teams that run at the same time on a GPU; on a CPU, which has no such limit, top_k_parts.
/// With as many parts as teams, all of one length, no part runs alone at the end.
template <class Exec>
[[nodiscard]] std::int64_t team_top_k_parts_at_a_time(const Exec& exec) {
  if constexpr (runs_on_host<Exec>) return top_k_parts;
  const std::int64_t multiprocessors = exec.concurrency() / multiprocessor_threads;
  return std::max(multiprocessors * std::int64_t{top_k_teams_at_a_time}, std::int64_t{1});
}

/// The kernels of LargeTopK for a GPU, and their memory.
template <class Exec>
class TeamLargeTopK {
 public:
  using MemorySpace = typename Exec::memory_space;

  TeamLargeTopK() = default;
  /// For blocks of up to `elements` elements.
  TeamLargeTopK(const Exec& exec, std::int64_t elements)
      : largest_(uninitialised(exec, "kadam::LargeTopK::largest"),
                 static_cast<std::size_t>(top_k_groups(elements))),
        list_(uninitialised(exec, "kadam::LargeTopK::list"),
              static_cast<std::size_t>(top_k_groups(elements))),
        listed_(uninitialised(exec, "kadam::LargeTopK::listed"),
                static_cast<std::size_t>(team_top_k_parts(elements))),
        counts_(Kokkos::view_alloc(exec, "kadam::LargeTopK::counts"),
                static_cast<std::size_t>(TeamTally<0>::bins)),
        bound_(uninitialised(exec, "kadam::LargeTopK::bound"), 2),
        found_(uninitialised(exec, "kadam::LargeTopK::found"), 3),
        done_(Kokkos::view_alloc(exec, "kadam::LargeTopK::done")),
        rows_(uninitialised(exec, "kadam::LargeTopK::rows"),
              static_cast<std::size_t>(team_top_k_parts(elements)),
              static_cast<std::size_t>(TeamTally<2>::words)),
        marks_(uninitialised(exec, "kadam::LargeTopK::marks"),
               static_cast<std::size_t>(team_top_k_parts(elements))) {}

  /// Writes the place.shape.entries largest elements of block `place` of writer.values into writer.message.
  /// Does not wait. Calls share this object's memory, so they belong to one instance of exec.
  void select(const Exec& exec, const SparseMap::Block& place, const EntryWriter<MemorySpace>& writer) const {
    const std::int64_t parts = std::min(team_top_k_parts(place.elements), team_top_k_parts_at_a_time(exec));
    const auto elements = Kokkos::make_pair(place.first_element, place.first_element + place.elements);
    const TopKParts<MemorySpace> block{.values = Kokkos::subview(writer.values, elements),
                                       .largest = largest_,
                                       .candidates = list_,
                                       .listed = listed_,
                                       .parts = parts,
                                       .part_groups = (top_k_groups(place.elements) + parts - 1) / parts};
    const std::int64_t k = place.shape.entries;
    const DigitSearch<MemorySpace> of_groups{counts_, bound_, done_,
                                             Kokkos::min(k, top_k_groups(place.elements))};
    const DigitSearch<MemorySpace> search{counts_, found_, done_, k};
    for_each_block("kadam::LargeTopK::tally", exec, 0, parts, TallyLargest<MemorySpace>{block, of_groups});
    for_each_block("kadam::LargeTopK::tally_again", exec, 0, parts,
                   TallyLargestAgain<MemorySpace>{block, of_groups});
    for_each_block("kadam::LargeTopK::list", exec, 0, parts,
                   ListReaching<MemorySpace>{block, search, bound_});
    for_each_block("kadam::LargeTopK::tally_reaching", exec, 0, parts,
                   TallyReaching<MemorySpace, 1>{block, search, {}});
    for_each_block("kadam::LargeTopK::tally_reaching", exec, 0, parts,
                   TallyReaching<MemorySpace, 2>{block, search, rows_});
    for_each_block("kadam::LargeTopK::mark", exec, 0, parts,
                   MarkPart<MemorySpace>{rows_, found_, marks_, writer.message, parts,
                                         place.first_index_word(), place.shape.index_words()});
    for_each_block("kadam::LargeTopK::select", exec, 0, parts,
                   SelectReaching<MemorySpace>{block, place, writer, found_, marks_});
  }

 private:
  static auto uninitialised(const Exec& exec, const std::string& label) {
    return Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label);
  }

  Kokkos::View<std::int32_t*, MemorySpace> largest_;
  Kokkos::View<Candidate*, MemorySpace> list_;
  Kokkos::View<std::int64_t*, MemorySpace> listed_;
  Kokkos::View<std::uint32_t*, MemorySpace> counts_;
  Kokkos::View<FoundDigits*, MemorySpace> bound_;
  Kokkos::View<FoundDigits*, MemorySpace> found_;
  Kokkos::View<std::uint32_t, MemorySpace> done_;
  Kokkos::View<std::uint32_t**, Kokkos::LayoutRight, MemorySpace> rows_;
  Kokkos::View<std::int64_t*, MemorySpace> marks_;
};

/// Bytes that a TeamLargeTopK holds for blocks of up to `elements` elements.
[[nodiscard]] inline std::size_t team_large_top_k_bytes(std::int64_t elements) {
  constexpr auto row_bytes = static_cast<std::size_t>(TeamTally<2>::words) * sizeof(std::uint32_t);
  return static_cast<std::size_t>(top_k_groups(elements)) * (sizeof(std::int32_t) + sizeof(Candidate)) +
         static_cast<std::size_t>(team_top_k_parts(elements)) * (row_bytes + 2 * sizeof(std::int64_t)) +
         static_cast<std::size_t>(TeamTally<0>::bins) * sizeof(std::uint32_t) + 5 * sizeof(FoundDigits) +
         sizeof(std::uint32_t);
}

}  // namespace kadam::detail
