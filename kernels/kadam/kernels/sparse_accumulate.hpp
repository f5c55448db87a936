// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/sparse_map.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

/// Sums and means of the entries of sparse messages: at the owner of a region (consecutive select blocks that
/// one rank owns), and on every rank.
///
/// A message holds an element at most once, so its entries are independent; messages are added in rank order.
/// Hence there are no atomics, and results do not depend on the number of threads.
namespace kadam {

/// Sparse messages of the same layout, one per rank. With exact values stride_bytes and first_byte are
/// multiples of 4.
template <class MemorySpace>
struct SparseMessages {
  SparseMap map;
  ConstWords<MemorySpace> words;
  int ranks = 1;
  std::int64_t stride_bytes = 0;  ///< from a rank's message to that of the next rank
  std::int64_t first_byte = 0;    ///< byte of `words` at which the message of rank 0 begins

  /// The byte of `words` at which the message of a rank begins.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t offset(std::int64_t rank) const {
    return first_byte + rank * stride_bytes;
  }
};

namespace detail {

/// Subtracts the mean of the messages from x in one part, which is blocks_per_part consecutive blocks, taken
/// one after the other. Each part has room for the sums of one block, which are 0 before and after.
template <class MemorySpace>
struct SubtractMeanOfPart {
  SparseMessages<MemorySpace> messages;
  std::int64_t first_block;
  std::int64_t blocks_per_part;
  float inverse_ranks;
  Kokkos::View<float*, MemorySpace> sums;
  Kokkos::View<float*, MemorySpace> x;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    const std::int64_t begin = first_block + part * blocks_per_part;
    const std::int64_t end = Kokkos::min(begin + blocks_per_part, messages.map.blocks);
    float* const of_part = sums.data() + part * messages.map.block_elements;
    for (std::int64_t index = begin; index < end; ++index) {
      add_up(member, messages.map.block(index), of_part);
      subtract(member, messages.map.block(index), of_part);
    }
  }

 private:
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void add_up(const Member& member, const SparseMap::Block& block,
                                          float* of_part) const {
    // The sums are in cache: meanwhile memory fetches the x of this block, a share with each message.
    const std::int64_t share = block.elements / messages.ranks;
    for (std::int64_t rank = 0; rank < messages.ranks; ++rank) {
      prefetch(x.data() + block.first_element + rank * share, share);
      SparseMap::for_each_entry(
          member, block, messages.words, messages.offset(rank),
          [&](const std::int64_t index, const float value) { of_part[index] += value; });
    }
  }

  /// Subtracts the means of one block. If most cache lines have an entry, it walks all elements, not the
  /// entries: a sum of 0 changes nothing.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void subtract(const Member& member, const SparseMap::Block& block,
                                            float* KOKKOS_RESTRICT of_part) const {
    constexpr std::int64_t line_elements = 16;  // of a cache line
    float* const KOKKOS_RESTRICT of_block = &x(block.first_element);
    if (line_elements * messages.ranks * block.shape.entries >= block.elements) {
      member.for_each(block.elements, [&](const std::int64_t k) {
        of_block[k] -= of_part[k] * inverse_ranks;
        of_part[k] = 0.0F;
      });
      return;
    }
    for (std::int64_t rank = 0; rank < messages.ranks; ++rank) {
      SparseMap::for_each_entry(member, block, messages.words, messages.offset(rank),
                                [&](const std::int64_t index, const float /*value*/) {
                                  of_block[index] -= of_part[index] * inverse_ranks;
                                  of_part[index] = 0.0F;  // another rank's entry changes nothing any more
                                });
    }
  }
};

/// GPU: the sums of a block of up to this many elements fit into the memory of its team.
inline constexpr std::int64_t team_block_elements = 4096;

[[nodiscard]] inline bool have_room_in_team(const SparseMap& map) {
  return map.block_elements <= team_block_elements;
}

/// Sums the entries of one block over ranks, by a team in the memory that its threads share, and calls
/// finish(member, block, sums). Only for maps that have_room_in_team().
template <class MemorySpace, class Finish>
struct SumsOfBlock {
  SparseMessages<MemorySpace> messages;
  Finish finish;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const SparseMap::Block block = messages.map.block(index);
    auto* const sums = member.template scratch<float>(team_block_elements);
    member.for_each(block.elements, [&](const std::int64_t k) { sums[k] = 0.0F; });
    for (std::int64_t rank = 0; rank < messages.ranks; ++rank) {
      SparseMap::for_each_entry(
          member, block, messages.words, messages.offset(rank),
          [&](const std::int64_t in_block, const float value) { sums[in_block] += value; });
    }
    finish(member, block, sums);
  }

  [[nodiscard]] static int scratch_bytes(int /*threads*/) {
    return static_cast<int>(team_block_elements * sizeof(float)) + 8;
  }
};

/// x(i) <- x(i) - (1/n) sum(i), in one block; an x(i) whose sum is 0 is neither read nor written.
template <class MemorySpace>
struct SubtractSums {
  float inverse_ranks;
  Kokkos::View<float*, MemorySpace> x;

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const Member& member, const SparseMap::Block& block,
                                              const float* sums) const {
    member.for_each_loaded(
        0, block.elements,
        [&](const std::int64_t k) { return sums[k] == 0.0F ? 0.0F : x(block.first_element + k); },
        [&](const std::int64_t k, const float before) {
          if (sums[k] != 0.0F) x(block.first_element + k) = before - sums[k] * inverse_ranks;
        });
  }
};

/// mean(i) <- (1/n) sum(i), in one block.
template <class MemorySpace>
struct WriteSums {
  float inverse_ranks;
  Kokkos::View<float*, MemorySpace> mean;

  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const Member& member, const SparseMap::Block& block,
                                              const float* sums) const {
    member.for_each(block.elements,
                    [&](const std::int64_t k) { mean(block.first_element + k) = sums[k] * inverse_ranks; });
  }
};

/// Calls function(entry) for entry number t of one message.
template <class MemorySpace, class Function>
struct VisitEntry {
  SparseMap map;
  ConstWords<MemorySpace> words;
  std::int64_t offset;
  Function function;
  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const std::int64_t block = map.block_of_entry(t);
    function(SparseMap::entry(map.block(block), words, offset, t - block * map.full.entries));
  }
};

template <class MemorySpace>
struct AddEntry {
  Kokkos::View<float*, MemorySpace> sums;
  KOKKOS_FUNCTION void operator()(const SparseMap::Entry& entry) const { sums(entry.element) += entry.value; }
};

template <class MemorySpace>
struct SubtractSum {
  float inverse_ranks;
  Kokkos::View<float*, MemorySpace> sums;
  Kokkos::View<float*, MemorySpace> x;
  KOKKOS_FUNCTION void operator()(const SparseMap::Entry& entry) const {
    x(entry.element) -= sums(entry.element) * inverse_ranks;
    sums(entry.element) = 0.0F;
  }
};

/// Computes the mean of one block over ranks, 0 where no rank sent an entry.
template <class MemorySpace>
struct MeanOfSentBlock {
  SparseMessages<MemorySpace> messages;
  float inverse_ranks;
  Kokkos::View<float*, MemorySpace> mean;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const SparseMap::Block block = messages.map.block(index);
    member.for_each(block.elements, [&](const std::int64_t k) { mean(block.first_element + k) = 0.0F; });
    for (std::int64_t rank = 0; rank < messages.ranks; ++rank) {
      SparseMap::for_each_entry(member, block, messages.words, messages.offset(rank),
                                [&](const std::int64_t in_block, const float value) {
                                  mean(block.first_element + in_block) += value;
                                });
    }
    member.for_each(block.elements,
                    [&](const std::int64_t k) { mean(block.first_element + k) *= inverse_ranks; });
  }
};

template <class MemorySpace>
struct ScaleElement {
  float factor;
  Kokkos::View<float*, MemorySpace> values;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const { values(i) *= factor; }
};

template <class MemorySpace>
struct SubtractEntry {
  Kokkos::View<float*, MemorySpace> x;
  KOKKOS_FUNCTION void operator()(const SparseMap::Entry& entry) const { x(entry.element) -= entry.value; }
};

/// Sets the residual of entry t of `sent` to 0 if `kept` has an entry for the same element: found by
/// bisection, since indices ascend in a block.
template <class MemorySpace>
struct ClearIfKept {
  SparseMap map;
  ConstWords<MemorySpace> sent;
  ConstWords<MemorySpace> kept;
  Kokkos::View<float*, MemorySpace> residual;

  KOKKOS_FUNCTION void operator()(const std::int64_t t) const {
    const std::int64_t number = map.block_of_entry(t);
    const SparseMap::Block block = map.block(number);
    const std::int64_t index = SparseMap::index_at(block, sent, 0, t - number * map.full.entries);
    std::int64_t first = 0;
    std::int64_t last = block.shape.entries - 1;
    while (first < last) {
      const std::int64_t middle = first + (last - first) / 2;
      if (SparseMap::index_at(block, kept, 0, middle) < index) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    if (SparseMap::index_at(block, kept, 0, first) == index) residual(block.first_element + index) = 0.0F;
  }
};

/// Calls function(entry) for all entries of the message of one rank.
template <class Exec, class MemorySpace, class Function>
void for_each_entry(const std::string& label, const Exec& exec, const SparseMessages<MemorySpace>& messages,
                    int rank, const Function& function) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      label, Policy(exec, 0, messages.map.entries()),
      VisitEntry<MemorySpace, Function>{messages.map, messages.words, messages.offset(rank), function});
}

/// The number of parts whose sums lie in memory at the same time: on a CPU one per thread, whose sums stay in
/// its cache. threads: host_threads(), 0 for a GPU. Returns 0 if a GPU's teams keep the sums in their own
/// memory.
[[nodiscard]] inline std::int64_t sparse_parts(std::int64_t threads, const SparseMap& map) {
  if (threads == 0 && have_room_in_team(map)) return 0;
  if (map.blocks <= 1) return map.blocks;
  const std::int64_t parts =
      threads > 0 ? threads : std::max<std::int64_t>(1, sparse_elements_at_a_time / map.block_elements);
  return std::min(parts, map.blocks);
}

}  // namespace detail

/// The number of threads of exec on a CPU; 0 on a GPU.
template <class Exec>
[[nodiscard]] std::int64_t host_threads(const Exec& exec) {
  return detail::one_thread_per_block<Exec> ? exec.concurrency() : 0;
}

/// Length of the sums that subtract_mean_of_messages() needs; threads: host_threads(). 0 if a GPU's teams
/// keep the sums in their own memory.
[[nodiscard]] inline std::int64_t sparse_sum_elements(std::int64_t threads, const SparseMap& map) {
  return std::min(map.elements, detail::sparse_parts(threads, map) * map.block_elements);
}

/// x(i) <- x(i) - (1/n) sum_r value_r(i) for every element i that some message holds, summed in rank order.
///
/// x is rounded once, when the mean is subtracted: with a density of 1 the result has the very bits of x -
/// ordered_mean().
/// Shape: x has map.elements elements; sums (workspace) has sparse_sum_elements(host_threads(exec), map), all
/// 0 before and after.
/// Memory: n messages of k entries, read once, or twice where few cache lines have an entry, and the cache
/// lines of x and sums that they touch.
template <class Exec, class MemorySpace>
void subtract_mean_of_messages(const Exec& exec, const SparseMessages<MemorySpace>& messages,
                               const Kokkos::View<float*, MemorySpace>& sums,
                               const Kokkos::View<float*, MemorySpace>& x) {
  const SparseMap& map = messages.map;
  const auto inverse = static_cast<float>(1.0 / messages.ranks);
  if constexpr (!detail::one_thread_per_block<Exec>) {
    if (detail::have_room_in_team(map)) {
      using Finish = detail::SubtractSums<MemorySpace>;
      detail::for_each_block("kadam::subtract_mean_of_messages", exec, 0, map.blocks,
                             detail::SumsOfBlock<MemorySpace, Finish>{messages, Finish{inverse, x}});
      return;
    }
  }
  if (map.blocks == 1) {  // all threads share it
    for (int rank = 0; rank < messages.ranks; ++rank) {
      detail::for_each_entry("kadam::subtract_mean_of_messages", exec, messages, rank,
                             detail::AddEntry<MemorySpace>{sums});
    }
    for (int rank = 0; rank < messages.ranks; ++rank) {
      detail::for_each_entry("kadam::subtract_mean_of_messages", exec, messages, rank,
                             detail::SubtractSum<MemorySpace>{inverse, sums, x});
    }
    return;
  }
  // A GPU takes `parts` blocks in each launch. On a CPU one launch does all: each thread takes its blocks one
  // after the other.
  const std::int64_t parts = detail::sparse_parts(host_threads(exec), map);
  if (parts == 0) return;
  const std::int64_t blocks_per_part =
      detail::one_thread_per_block<Exec> ? (map.blocks + parts - 1) / parts : 1;
  for (std::int64_t first = 0; first < map.blocks; first += parts * blocks_per_part) {
    detail::for_each_block(
        "kadam::subtract_mean_of_messages", exec, 0, std::min(parts, map.blocks - first),
        detail::SubtractMeanOfPart<MemorySpace>{messages, first, blocks_per_part, inverse, sums, x});
  }
}

/// mean(i) <- (1/n) sum_r value_r(i), in rank order, and 0 where no message has an entry: for the owner of a
/// region.
///
/// Shape: mean has map.elements elements. Memory: n messages of k entries, and 4 B per element, 12 B if the
/// map is one block.
template <class Exec, class MemorySpace>
void mean_of_messages(const Exec& exec, const SparseMessages<MemorySpace>& messages,
                      const Kokkos::View<float*, MemorySpace>& mean) {
  const auto inverse = static_cast<float>(1.0 / messages.ranks);
  if constexpr (!detail::one_thread_per_block<Exec>) {
    if (detail::have_room_in_team(messages.map)) {
      using Finish = detail::WriteSums<MemorySpace>;
      detail::for_each_block("kadam::mean_of_messages", exec, 0, messages.map.blocks,
                             detail::SumsOfBlock<MemorySpace, Finish>{messages, Finish{inverse, mean}});
      return;
    }
  }
  if (messages.map.blocks != 1) {
    detail::for_each_block("kadam::mean_of_messages", exec, 0, messages.map.blocks,
                           detail::MeanOfSentBlock<MemorySpace>{messages, inverse, mean});
    return;
  }
  Kokkos::deep_copy(exec, mean, 0.0F);
  for (int rank = 0; rank < messages.ranks; ++rank) {
    detail::for_each_entry("kadam::mean_of_messages", exec, messages, rank,
                           detail::AddEntry<MemorySpace>{mean});
  }
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("kadam::mean_of_messages", Policy(exec, 0, messages.map.elements),
                       detail::ScaleElement<MemorySpace>{inverse, mean});
}

/// x(i) <- x(i) - value, for every entry of one message. Memory: k entries, and the cache lines of x that
/// they touch.
template <class Exec, class MemorySpace>
void subtract_message(const Exec& exec, const SparseMap& map, const ConstWords<MemorySpace>& message,
                      const Kokkos::View<float*, MemorySpace>& x) {
  detail::for_each_entry("kadam::subtract_message", exec, SparseMessages<MemorySpace>{map, message}, 0,
                         detail::SubtractEntry<MemorySpace>{x});
}

/// residual(i) <- 0 for every element i that has an entry both in `sent` and in `kept`; all other elements
/// stay, to the last bit. Shape: both messages have the layout of map, with exact values.
/// Memory: the indices of sent, for each a bisection in those of kept, and the cache lines that are cleared.
template <class Exec, class MemorySpace>
void clear_kept(const Exec& exec, const SparseMap& map, const ConstWords<MemorySpace>& sent,
                const ConstWords<MemorySpace>& kept, const Kokkos::View<float*, MemorySpace>& residual) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("kadam::clear_kept", Policy(exec, 0, map.entries()),
                       detail::ClearIfKept<MemorySpace>{map, sent, kept, residual});
}

}  // namespace kadam
