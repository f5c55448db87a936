// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/candidates.hpp>
#include <kadam/kernels/detail/magnitude_cut.hpp>
#include <kadam/kernels/detail/ranked_candidates.hpp>
#include <kadam/kernels/sparse_map.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// Whether a selected element of the vector stays or becomes 0.
enum class Selected : std::uint8_t { stays, becomes_zero };

namespace detail {

/// Writes entries of one block into a message.
template <class MemorySpace>
struct EntryWriter {
  Kokkos::View<float*, MemorySpace> values;
  Words<MemorySpace> message;
  Selected selected;

  /// Writes element `index` of the block as its entry `position`. The words of the indices must be 0 before
  /// the first entry of the block is written.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Member& member, const SparseMap::Block& block,
                                         std::int64_t position, std::int64_t index) const {
    write(member, block, position, index, values(block.first_element + index));
  }
  /// The same with the element's value, for a caller that has it at hand: `values` is not read again.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Member& member, const SparseMap::Block& block,
                                         std::int64_t position, std::int64_t index, float value) const {
    message(block.first_word() + position) = Kokkos::bit_cast<std::uint32_t>(value);
    if (selected == Selected::becomes_zero) values(block.first_element + index) = 0.0F;
    if (index == 0) return;  // a block of one element has no index words at all
    const std::int64_t bit = position * block.shape.index_bits;
    const std::int64_t word = block.first_index_word() + (bit >> 5);
    const std::uint64_t bits = static_cast<std::uint64_t>(index) << static_cast<unsigned>(bit & 31);
    const auto low = static_cast<std::uint32_t>(bits);
    const auto high = static_cast<std::uint32_t>(bits >> 32);
    if (low != 0) member.merge(message(word), low);
    if (high != 0) member.merge(message(word + 1), high);
  }
};

/// Selects the k largest elements of one block and writes them as entries.
template <class MemorySpace>
struct SelectBlock {
  static constexpr unsigned least_teams = top_k_teams_at_a_time;

  SparseMap map;
  EntryWriter<MemorySpace> writer;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const SparseMap::Block block = map.block(index);
    const Words<MemorySpace> message = writer.message;
    member.for_each(block.shape.index_words(),
                    [&](const std::int64_t w) { message(block.first_index_word() + w) = 0; });
    const Kokkos::View<float*, MemorySpace> values = writer.values;
    const auto magnitude = [&](const std::int64_t k) {
      return magnitude_of(values(block.first_element + k));
    };
    if constexpr (Member::is_one_thread) {
      Candidates candidates(member);
      select_from(candidates, member, block, magnitude);
    } else {
      auto* const memory = member.template scratch<std::uint64_t>(scratch_words);
      const auto write = [&](const std::int64_t position, const std::int64_t k) {
        writer.write(member, block, position, k);
      };
      if (RankedCandidates(memory).select(member, block.elements, block.shape.entries, magnitude, write)) {
        return;
      }
      member.barrier();  // the counts take the place of the list
      TeamCandidates candidates(reinterpret_cast<std::int32_t*>(memory));
      select_from(candidates, member, block, magnitude);
    }
  }

  [[nodiscard]] static int scratch_bytes(int /*threads*/) {
    return static_cast<int>(scratch_words * sizeof(std::uint64_t)) + 8;
  }

 private:
  static constexpr std::int64_t scratch_words =
      Kokkos::max(RankedCandidates::scratch_words, std::int64_t{TeamCandidates::words + 1} / 2);

  template <class List, class Member, class Magnitude>
  KOKKOS_FORCEINLINE_FUNCTION void select_from(List& candidates, const Member& member,
                                               const SparseMap::Block& block,
                                               const Magnitude& magnitude) const {
    if (candidates.collect(member, block.elements, block.shape.entries, magnitude)) {
      select(
          member, block, candidates.count(), [&](const std::int64_t c) { return candidates.magnitude(c); },
          [&](const std::int64_t c) { return candidates.index(c); }, candidates.known());
      return;
    }
    select(member, block, block.elements, magnitude, [](const std::int64_t k) { return k; }, {});
  }

  /// Selects from `count` elements of the block, which come in ascending order of their index.
  template <class Member, class Magnitude, class Index>
  KOKKOS_FORCEINLINE_FUNCTION void select(const Member& member, const SparseMap::Block& block,
                                          std::int64_t count, const Magnitude& magnitude, const Index& index,
                                          const KnownBits& known) const {
    const MagnitudeCut cut = find_cut(member, count, block.shape.entries, magnitude, known);
    member.for_each_marked(
        count, [&](const std::int64_t k) { return cut.mark(magnitude(k)); },
        [&](const std::int64_t k, const std::int64_t before) {
          if (cut.selects(magnitude(k), before)) writer.write(member, block, cut.selected(before), index(k));
        });
  }
};

}  // namespace detail

/// Writes the largest |values| of every block to the message, as many as the map gives the block, with exact
/// values and in ascending order of their index; of equal ones it takes those with the lower index.
///
/// Shape: values has map.elements elements; message has the words of map and begins at word 0 of the View.
/// Blocks have at most 65536 elements; LargeTopK takes longer ones.
/// Memory: reads 4 B per element and writes the cache lines of the selected elements, in about one pass at a
/// density of 1 %. Deterministic: independent of the number of threads.
template <class Exec, class MemorySpace>
void select_top_k(const Exec& exec, const SparseMap& map, const Kokkos::View<float*, MemorySpace>& values,
                  Selected selected, const Words<MemorySpace>& message) {
  detail::for_each_block("kadam::select_top_k", exec, 0, map.blocks,
                         detail::SelectBlock<MemorySpace>{map, {values, message, selected}});
}

}  // namespace kadam
