// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/sparse_map.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {
namespace detail {

/// Encodes the selected entries of one block with two levels, and subtracts the coded values from the
/// residual.
template <class MemorySpace>
struct EncodeTwoLevels {
  SparseMap selected_map;
  ConstWords<MemorySpace> selected;
  SparseMap map;
  std::uint8_t* message;
  Kokkos::View<float*, MemorySpace> residual;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const SparseMap::Block from = selected_map.block(index);
    const SparseMap::Block to = map.block(index);
    const Levels levels = find_levels(member, from);
    std::uint8_t* const bytes = message + to.first_byte;
    // A thread makes whole bytes: no byte is shared with another thread, or with a neighbouring block.
    member.for_each(to.shape.bytes(), [&](const std::int64_t b) { bytes[b] = byte_at(from, levels, b); });
    member.for_each(from.shape.entries, [&](const std::int64_t position) {
      const float value = value_at(from, position);
      const float level = is_high(value, levels) ? levels.high : levels.low;
      residual(from.first_element + SparseMap::index_at(from, selected, 0, position)) -=
          is_negative(value) ? -level : level;
    });
  }

 private:
  /// The two magnitudes, and the border: entries whose magnitude exceeds it get the higher one.
  struct Levels {
    double border;
    float low;
    float high;
  };

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float value_at(const SparseMap::Block& block,
                                                           std::int64_t position) const {
    return number_in(selected(block.first_word() + position));
  }
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION bool is_negative(float value) {
    return Kokkos::bit_cast<std::uint32_t>(value) >> 31U != 0;
  }
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION bool is_high(float value, const Levels& levels) {
    return static_cast<double>(Kokkos::fabs(value)) > levels.border;
  }

  /// Computes the levels of one block. Its sums of up to 4096 float32 in double are exact, in any order,
  /// where the largest is less than 2^17 times the smallest.
  template <class Member>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Levels find_levels(const Member& member,
                                                               const SparseMap::Block& block) const {
    const std::int64_t entries = block.shape.entries;
    const auto magnitude = [&](const std::int64_t position) {
      return Kokkos::fabs(value_at(block, position));
    };
    Levels levels{0.0, 0.0F, 0.0F};
    const std::int64_t zeros =
        member.count(entries, [&](const std::int64_t position) { return magnitude(position) == 0.0F; });
    if (zeros == 0) levels.border = member.sum(entries, magnitude) / static_cast<double>(entries);
    const auto is_above = [&](const std::int64_t position) {
      return is_high(value_at(block, position), levels);
    };
    const std::int64_t above = member.count(entries, is_above);
    const double sum_above = member.sum(entries, [&](const std::int64_t position) {
      return is_above(position) ? magnitude(position) : 0.0F;
    });
    const double sum_below = member.sum(entries, [&](const std::int64_t position) {
      return is_above(position) ? 0.0F : magnitude(position);
    });
    if (above < entries) levels.low = static_cast<float>(sum_below / static_cast<double>(entries - above));
    levels.high = above > 0 ? static_cast<float>(sum_above / static_cast<double>(above)) : levels.low;
    return levels;
  }

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::uint32_t entry(const SparseMap::Block& block,
                                                                const Levels& levels,
                                                                std::int64_t position) const {
    constexpr auto sign = static_cast<unsigned>(SparseMap::level_index_bits);
    const float value = value_at(block, position);
    return static_cast<std::uint32_t>(SparseMap::index_at(block, selected, 0, position)) |
           (is_negative(value) ? 1U : 0U) << sign | (is_high(value, levels) ? 1U : 0U) << (sign + 1U);
  }

  /// Byte b of a block: part of a magnitude, or of one or two entries.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::uint8_t byte_at(const SparseMap::Block& block,
                                                                 const Levels& levels, std::int64_t b) const {
    constexpr std::int64_t magnitudes = SparseMap::level_bytes;
    constexpr std::int64_t bits = SparseMap::level_entry_bits;
    if (b < magnitudes) {
      const auto word = Kokkos::bit_cast<std::uint32_t>(b < magnitudes / 2 ? levels.low : levels.high);
      return static_cast<std::uint8_t>(word >> static_cast<unsigned>(8 * (b % (magnitudes / 2))));
    }
    const std::int64_t bit = 8 * (b - magnitudes);
    const std::int64_t position = bit / bits;
    const std::int64_t passed = bit % bits;
    std::uint32_t taken = entry(block, levels, position) >> static_cast<unsigned>(passed);
    if (passed + 8 > bits && position + 1 < block.shape.entries) {
      taken |= entry(block, levels, position + 1) << static_cast<unsigned>(bits - passed);
    }
    return static_cast<std::uint8_t>(taken);
  }
};

}  // namespace detail

/// Encodes the selected entries of every block with two magnitudes per block (one bit of an entry says
/// which); subtracts the coded values from the residual, which keeps the rest.
///
///   a = |value| of the entries of a block, border = mean of a
///   high = mean of the a above the border, low = mean of the others
///   residual <- residual - sign high, or - sign low
///
/// Where zeros fill up a block, low is 0 and all other entries are high: nothing moves that never had a
/// gradient. Where all a are equal, high is low. Means are in double, rounded once.
/// Shape: `selected` is the message that select_top_k() made of the residual by selected_map, with
/// Selected::stays, exact values and the same blocks as map, which have at most 4096 elements
/// (SparseMap::level_index_bits). message: the first byte of the
/// message of map; only its bytes are written. residual has map.elements elements. Memory: reads the entries
/// a few times, in cache; writes 14 bits for each and the cache lines of the residual that they touch.
/// Deterministic.
template <class Exec, class MemorySpace>
void encode_two_levels(const Exec& exec, const SparseMap& selected_map,
                       const ConstWords<MemorySpace>& selected, const SparseMap& map, std::uint8_t* message,
                       const Kokkos::View<float*, MemorySpace>& residual) {
  detail::for_each_block(
      "kadam::encode_two_levels", exec, 0, map.blocks,
      detail::EncodeTwoLevels<MemorySpace>{selected_map, selected, map, message, residual});
}

}  // namespace kadam
