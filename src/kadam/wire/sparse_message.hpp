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
/// Wire: for each block the k float32 values, then the k indices inside the block in bit_width(L - 1) bits
/// each, the first in the lowest bits of the first 32-bit word, padded to whole words; in the order of bytes
/// of BlockMessage. With SparseValues::two_levels for each block two float32, the lower and the higher
/// magnitude, then k entries of 14 bits: the index in the lowest 12, a bit that is set if the value is
/// negative, a bit that is set if it has the higher magnitude; padded to a byte. Entries are in ascending
/// order of their index. There is no header: every size follows from the options. Worked number: 4096
/// elements, density 0.01: k = 41; 41 values and 41 x 12 bits in 16 words = 228 bytes; with two levels 8
/// bytes and 41 x 14 bits in 72 bytes = 80 bytes.
class SparseMessage {
 public:
  /// The longest block that one thread or team selects from.
  static constexpr std::int64_t largest_select_block = 65536;
  /// The longest block whose indices fit into an entry with two levels: 4096 elements.
  static constexpr std::int64_t largest_level_block = std::int64_t{1} << SparseMap::level_index_bits;

  SparseMessage() = default;
  /// select_block = 0: the whole vector is one block.
  /// Errors: std::invalid_argument unless elements >= 0, select_block >= 0, 0 < density <= 1 and the indices
  /// of a block fit into 32 bits, with two levels into 12.
  SparseMessage(std::int64_t elements, std::int64_t select_block, double density,
                SparseValues values = SparseValues::exact);

  /// k, the number of entries that a block of block_elements elements sends.
  [[nodiscard]] static std::int64_t entries_of(std::int64_t block_elements, double density);

  [[nodiscard]] std::size_t total_bytes() const;

  /// The region of a rank, if each of `ranks` ranks owns ceil(blocks / ranks) consecutive blocks; the last
  /// ranks may own fewer, or none.
  [[nodiscard]] ElementRange region(int ranks, int rank) const;
  /// The place of the entries of elements `range` in the message. Shape: the range is whole blocks.
  [[nodiscard]] Piece piece(const ElementRange& range) const;

  /// The blocks of the whole vector, as kernels need them.
  [[nodiscard]] const SparseMap& map() const { return map_; }
  /// The blocks of elements `range` alone, seen from its start. Shape: the range is whole blocks.
  [[nodiscard]] SparseMap map_of(const ElementRange& range) const;

 private:
  /// The first block of region(ranks, rank).
  [[nodiscard]] std::int64_t first_block(int ranks, int rank) const;
  [[nodiscard]] std::int64_t blocks_before(std::int64_t element) const;
  [[nodiscard]] std::size_t offset_bytes(std::int64_t block) const;

  SparseMap map_;
};

}  // namespace kadam
