// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/words.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/wire/block_message.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace kadam {

/// A part of one chunk that travels as one piece.
struct Slice {
  ElementRange elements;  ///< of the whole vector
  Piece sent;             ///< its place in a buffer with the messages of all chunks
  Piece received;         ///< the place of that from rank 0 in a buffer with the messages of one chunk from
                          ///< all ranks; that from rank r lies r stride_bytes() behind
};

/// Chunks of a vector, such as one for each rank, each cut from its start into slices of the same length.
///
/// Worked number: d = 1000, n = 2, slices of 200: chunk 0 has 512 elements in slices of 200, 200, 112.
class SlicedChunks {
 public:
  /// A number of elements that no slice divides, and the bytes of their message.
  struct Unit {
    std::int64_t elements = 1;
    std::size_t bytes = 1;

    friend bool operator==(const Unit&, const Unit&) = default;
  };
  using ChunkOf = std::function<ElementRange(int)>;
  using PieceOf = std::function<Piece(const ElementRange&)>;

  /// Cuts the chunks into slices of as many units as fit into piece_bytes, at least one; of more units if a
  /// chunk would have more than Exchange::most_numbers slices. Cached: a call with the same arguments returns
  /// at once, without an allocation. chunk_of(j) is chunk j, which consists of units but for a shorter one at
  /// its end; piece_of(elements) is the place of their message among the messages of all chunks.
  void cut(int chunks, const ChunkOf& chunk_of, std::size_t piece_bytes, const Unit& unit,
           const PieceOf& piece_of);

  [[nodiscard]] int ranks() const { return static_cast<int>(slices_.size()); }
  [[nodiscard]] const std::vector<Slice>& of_chunk(int chunk) const {
    return slices_[static_cast<std::size_t>(chunk)];
  }
  /// The number of slices of the chunk that has the most.
  [[nodiscard]] std::size_t most() const { return most_; }
  /// The bytes from the message of one rank to that of the next, in a buffer with the messages of this chunk
  /// from all ranks.
  [[nodiscard]] std::size_t stride_bytes(int chunk) const {
    return stride_bytes_[static_cast<std::size_t>(chunk)];
  }

 private:
  [[nodiscard]] bool are_cut(int chunks, const ChunkOf& chunk_of, const PieceOf& piece_of) const;

  std::size_t piece_bytes_ = 0;  ///< of the last cut(), as unit_
  Unit unit_;
  std::vector<std::vector<Slice>> slices_;
  std::vector<std::size_t> stride_bytes_;
  std::size_t most_ = 0;
};

/// The place of elements `range` in a buffer of numbers, each of bytes_per_number bytes.
[[nodiscard]] Piece numbers_piece(const ElementRange& range, std::size_t bytes_per_number);

/// Cuts the chunks of a vector whose numbers are sent as they are. T: the type of a number.
template <class T>
void cut_numbers(SlicedChunks& slices, const ChunkLayout& chunks, std::size_t piece_bytes) {
  constexpr std::int64_t unit = ChunkLayout::alignment_elements;
  slices.cut(
      chunks.ranks(), [&](int j) { return chunks.chunk(j); }, piece_bytes, {unit, unit * sizeof(T)},
      [](const ElementRange& range) { return numbers_piece(range, sizeof(T)); });
}

/// The number of 32-bit words in `bytes` bytes, a multiple of 4.
[[nodiscard]] std::int64_t words_of(std::size_t bytes);
/// The words of a piece of a buffer. Shape: the piece is whole words.
[[nodiscard]] Words<MemorySpace> part_of(const Words<MemorySpace>& all, const Piece& piece);

/// Cuts the chunks of a block-coded message into slices of whole scale blocks.
void cut_messages(SlicedChunks& slices, const BlockMessage& message, std::size_t piece_bytes);

/// Copies the own message of a slice of the own chunk, chunk `rank`, from `messages` to its place in
/// `received`, where those of the other ranks come in: no rank sends to itself.
void keep_own_message(const ExecutionSpace& exec, const SlicedChunks& slices, int rank, const Slice& slice,
                      const Words<MemorySpace>& messages, const Words<MemorySpace>& received);

}  // namespace kadam
