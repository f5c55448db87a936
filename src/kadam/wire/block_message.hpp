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

/// A piece of a buffer that goes to, or comes from, one rank.
struct Piece {
  std::size_t offset_bytes = 0;
  std::size_t bytes = 0;

  friend bool operator==(const Piece&, const Piece&) = default;
};

/// The byte layout of the block-coded messages of a vector, one message per chunk.
///
/// Wire: for each scale block of the chunk its float32 scale, then its codes, element 0 in the lowest bits of
/// the first 32-bit word, padded to whole words; little-endian. Consecutive blocks are a contiguous piece, so
/// a message can be sent in as many pieces as one likes. There is no header: ranks agree on d, n and the
/// options when an optimizer is made, and every size follows from them.
/// Worked number: 128 elements, 1 bit, block 64: 2 blocks of a scale and 2 words = 24 bytes.
class BlockMessage {
 public:
  BlockMessage() = default;
  /// block_elements = 0: one block per chunk. Errors: std::invalid_argument for a negative block.
  BlockMessage(const ChunkLayout& chunks, std::int64_t block_elements, int bits, bool has_scale);

  /// Where chunk j's message lies when the messages of all chunks follow each other.
  [[nodiscard]] Piece piece(int chunk) const;
  [[nodiscard]] std::vector<Piece> pieces() const;
  /// Where the message of some elements lies. Shape: they are whole blocks.
  [[nodiscard]] Piece piece(const ElementRange& range) const;
  /// Of the messages of all chunks.
  [[nodiscard]] std::size_t total_bytes() const;
  [[nodiscard]] const ChunkLayout& chunks() const { return chunks_; }

  /// The kernels' view of all chunks.
  [[nodiscard]] const BlockMap& map() const { return map_; }
  /// The kernels' view of chunk j alone, its first element being element 0.
  [[nodiscard]] BlockMap chunk_map(int chunk) const;

 private:
  [[nodiscard]] std::int64_t words_of(std::int64_t chunk_elements) const;
  [[nodiscard]] std::int64_t words_before(std::int64_t element) const;

  ChunkLayout chunks_;
  int bits_ = 1;
  BlockMap map_;
};

}  // namespace kadam
