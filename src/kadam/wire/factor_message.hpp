// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/factor_coder.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/wire/block_message.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam {

/// The byte layout of messages that hold the columns of factors, one message per chunk.
///
/// The columns lie one after the other in a buffer, which is cut into chunks (ChunkLayout). A block is the
/// part of one column in one chunk.
/// Wire: for each block of the chunk its float32 scale, if the code has one, then its codes, element 0 in the
/// lowest bits of the first 32-bit word, padded to whole words; in the order of bytes of BlockMessage. There
/// is no header.
/// Worked number: columns of 100 and 30 elements on 2 ranks: chunks of 128 and 2 elements, blocks of 100, 28
/// and 2 elements; with 8 bits 104 + 32 = 136 bytes and 8 bytes.
class FactorMessage {
 public:
  FactorMessage() = default;
  /// columns: the length of each column. bits: per element; divides 32.
  FactorMessage(const std::vector<std::int64_t>& columns, int ranks, int bits, bool has_scale);

  [[nodiscard]] std::int64_t elements() const { return chunks_.elements(); }
  [[nodiscard]] const ChunkLayout& chunks() const { return chunks_; }
  /// The blocks of all chunks, in order; none is empty.
  [[nodiscard]] const std::vector<FactorBlock>& blocks() const { return blocks_; }
  /// For each of blocks(): the number of the column that it is a part of.
  [[nodiscard]] const std::vector<std::size_t>& columns() const { return columns_; }
  /// A chunk consists of blocks [first_block(chunk), end_block(chunk)).
  [[nodiscard]] std::int64_t first_block(int chunk) const {
    return first_blocks_[static_cast<std::size_t>(chunk)];
  }
  [[nodiscard]] std::int64_t end_block(int chunk) const {
    return first_blocks_[static_cast<std::size_t>(chunk) + 1];
  }
  /// The place of a chunk's message in a buffer where the messages of all chunks follow each other.
  [[nodiscard]] const Piece& piece(int chunk) const { return pieces_[static_cast<std::size_t>(chunk)]; }
  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }
  /// The bytes of the messages of all chunks.
  [[nodiscard]] std::size_t total_bytes() const {
    return pieces_.empty() ? 0 : pieces_.back().offset_bytes + pieces_.back().bytes;
  }

 private:
  ChunkLayout chunks_;
  std::vector<FactorBlock> blocks_;
  std::vector<std::size_t> columns_;
  std::vector<std::int64_t> first_blocks_ = {0};
  std::vector<Piece> pieces_;
};

}  // namespace kadam
