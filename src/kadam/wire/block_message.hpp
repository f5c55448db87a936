// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/block_map.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam {

/// The version of all byte layouts that messages have, and of the order in which ranks exchange them.
///
/// Messages carry no header. Ranks compare this number when an optimizer is made, so that two builds that
/// would misread each other refuse to work together. It goes up with every change of a layout.
inline constexpr std::uint64_t wire_format_version = 3;

/// Consecutive bytes of a buffer that go to, or come from, one rank.
struct Piece {
  std::size_t offset_bytes = 0;
  std::size_t bytes = 0;

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// The byte layout of the block-coded messages of a vector, one message per chunk.
///
/// Wire: for each scale block of the chunk its float32 scale, if the code has one, then its codes, element 0
/// in the lowest bits of the first 32-bit word, padded to whole words; in the hosts' order of bytes, which
/// has to be the same. Consecutive blocks are a contiguous piece, so a message can be cut between any two
/// blocks. There is no header: ranks agree on d, n and the options when an optimizer is made, and every size
/// follows from them. Worked number: 128 elements, 1 bit, block 64: 2 blocks of a scale and 2 words = 24
/// bytes.
class BlockMessage {
 public:
  BlockMessage() = default;
  /// block_elements: of a scale block; 0: one block per chunk. bits: per element. has_scale: whether each
  /// block begins with a scale. Errors: std::invalid_argument for negative block_elements.
  BlockMessage(const ChunkLayout& chunks, std::int64_t block_elements, int bits, bool has_scale);

  /// The place of a chunk's message in a buffer where the messages of all chunks follow each other.
  [[nodiscard]] Piece piece(int chunk) const;
  /// piece(j) of all chunks j.
  [[nodiscard]] std::vector<Piece> pieces() const;
  /// The place of the message of elements `range` in the same buffer. Shape: the range is whole blocks.
  [[nodiscard]] Piece piece(const ElementRange& range) const;
  /// The bytes of the messages of all chunks.
  [[nodiscard]] std::size_t total_bytes() const;
  [[nodiscard]] const ChunkLayout& chunks() const { return chunks_; }

  /// The blocks of all chunks, as kernels need them.
  [[nodiscard]] const BlockMap& map() const { return map_; }
  /// The blocks of one chunk alone, whose first element is element 0.
  [[nodiscard]] BlockMap chunk_map(int chunk) const;

 private:
  /// The words of the message of the first chunk_elements elements of a chunk.
  [[nodiscard]] std::int64_t words_of(std::int64_t chunk_elements) const;
  /// The words before the message of the block that begins at this element, over all chunks.
  [[nodiscard]] std::int64_t words_before(std::int64_t element) const;

  ChunkLayout chunks_;
  int bits_ = 1;
  BlockMap map_;
};

}  // namespace kadam
