// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/sparse_map.hpp>
#include <kadam/wire/block_message.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam {

/// The byte layout of a message that holds the largest entries of every select block of a vector.
///
/// A block of L elements sends k = max(1, floor(density L + 1/2)) entries.
/// Wire: block after block, the k float32 values, then the k indices inside the block in bit_width(L - 1)
/// bits each, the first in the lowest bits of the first 32-bit word, padded to whole words; little-endian.
/// With two levels: two float32, the lower and the higher magnitude, then k entries of 14 bits, the index in
/// the lowest 12, a bit for negative ones, a bit for those of the higher magnitude; padded to a byte. Entries
/// are in ascending order of their index. There is no header: every size follows from the options. Worked
/// number: 4096 elements, density 0.01: k = 41; 41 values and 41 x 12 bits in 16 words = 228 bytes; with two
/// levels 8 bytes and 41 x 14 bits in 72 bytes = 80 bytes.
class SparseMessage {
 public:
  /// The longest block that one thread or team selects from.
  static constexpr std::int64_t largest_select_block = 65536;
  /// The longest block whose indices fit an entry with two levels.
  static constexpr std::int64_t largest_level_block = std::int64_t{1} << SparseMap::level_index_bits;

  SparseMessage() = default;
  /// select_block = 0: the whole vector is one block.
  /// Errors: std::invalid_argument unless elements >= 0, 0 <= select_block, 0 < density <= 1 and a block's
  /// indices fit 32 bits, with two levels 12.
  SparseMessage(std::int64_t elements, std::int64_t select_block, double density,
                SparseValues values = SparseValues::exact);

  /// k of a block of so many elements.
  [[nodiscard]] static std::int64_t entries_of(std::int64_t block_elements, double density);

  [[nodiscard]] std::size_t total_bytes() const;

  /// Region r of the vector, when its blocks are dealt to ranks, ceil(blocks / ranks) to each as long as
  /// there are any: a block belongs to one region.
  [[nodiscard]] ElementRange region(int ranks, int rank) const;
  /// Where the entries of some elements lie in the message. Shape: they are whole blocks.
  [[nodiscard]] Piece piece(const ElementRange& range) const;

  /// The kernels' view of the whole vector.
  [[nodiscard]] const SparseMap& map() const { return map_; }
  /// The kernels' view of some elements alone, the first being element 0. Shape: they are whole blocks.
  [[nodiscard]] SparseMap map_of(const ElementRange& range) const;

 private:
  [[nodiscard]] std::int64_t first_block(int ranks, int rank) const;
  [[nodiscard]] std::int64_t blocks_before(std::int64_t element) const;
  [[nodiscard]] std::size_t offset_bytes(std::int64_t block) const;

  SparseMap map_;
};

}  // namespace kadam
