// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// Places of the scale blocks of a chunked vector: in elements, and in 32-bit words of the messages.
///
/// The message of one chunk is [scale of block 0][codes of block 0][scale of block 1][codes of block 1] ...;
/// each block starts at a new word, so a thread that owns a word owns its elements, and consecutive blocks
/// lie side by side in the message. The messages of all chunks follow each other; every chunk but the last
/// non-empty one is full.
struct BlockMap {
  std::int64_t elements = 0;          ///< of the whole vector
  std::int64_t chunk_elements = 0;    ///< of a full chunk
  std::int64_t block_elements = 0;    ///< of a full block
  std::int64_t blocks_per_chunk = 0;  ///< in a full chunk
  std::int64_t words_per_block = 0;   ///< code words of a full block
  std::int64_t words_per_chunk = 0;   ///< scale and code words of a full chunk
  std::int64_t blocks = 0;            ///< in the whole vector
  std::int64_t scale_words = 1;       ///< per block: 1, or 0 for a code without scale

  struct Block {
    std::int64_t first_element;
    std::int64_t elements;
    std::int64_t scale_word;  ///< word of the scale, in the messages of all chunks
    std::int64_t first_word;  ///< first word of the codes, likewise
  };

  [[nodiscard]] KOKKOS_INLINE_FUNCTION Block block(std::int64_t index) const {
    const std::int64_t chunk = index / blocks_per_chunk;
    const std::int64_t in_chunk = index - chunk * blocks_per_chunk;
    const std::int64_t chunk_begin = chunk * chunk_elements;
    const std::int64_t chunk_end = Kokkos::min(chunk_begin + chunk_elements, elements);
    const std::int64_t first = chunk_begin + in_chunk * block_elements;
    const std::int64_t word = chunk * words_per_chunk + in_chunk * (scale_words + words_per_block);
    return {first, Kokkos::min(block_elements, chunk_end - first), word, word + scale_words};
  }

  /// Number of the block that holds `element`.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t block_of(std::int64_t element) const {
    const std::int64_t chunk = element / chunk_elements;
    return chunk * blocks_per_chunk + (element - chunk * chunk_elements) / block_elements;
  }
};

/// The blocks [first, last) of a map: the work of one kernel.
struct BlockRange {
  BlockMap map;
  std::int64_t first;
  std::int64_t last;

  /// All blocks.
  BlockRange(const BlockMap& whole)
      : BlockRange(whole, 0, whole.blocks) {}  // NOLINT(google-explicit-constructor)
  BlockRange(const BlockMap& of, std::int64_t first_block, std::int64_t last_block)
      : map(of), first(first_block), last(last_block) {}

  /// The blocks of the elements [begin, end). begin and end are borders of blocks.
  [[nodiscard]] static BlockRange of_elements(const BlockMap& map, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return {map, 0, 0};
    return {map, map.block_of(begin), map.block_of(end - 1) + 1};
  }
};

}  // namespace kadam
