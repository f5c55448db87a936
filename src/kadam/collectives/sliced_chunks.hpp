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
  Piece sent;             ///< in a buffer with the messages of all chunks
  Piece received;         ///< in a buffer with the messages of one chunk from all ranks: the one from rank 0
};

/// The chunks of a vector, one for each rank, cut into slices of one length from their starts.
///
/// Worked number: d = 1000, n = 2, slices of 200: chunk 0 has 512 elements in slices of 200, 200, 112.
class SlicedChunks {
 public:
  /// What slices are made of: so many elements, with a message of so many bytes.
  struct Unit {
    std::int64_t elements = 1;
    std::size_t bytes = 1;

    friend bool operator==(const Unit&, const Unit&) = default;
  };
  using ChunkOf = std::function<ElementRange(int)>;
  using PieceOf = std::function<Piece(const ElementRange&)>;

  /// Cuts the chunks into slices of as many units as make about piece_bytes, at least one; more where a chunk
  /// would have more than Exchange::most_numbers slices. Returns at once, without an allocation, if the
  /// slices are those of these very arguments already. chunk_of(j) is chunk j, of units but for its end;
  /// piece_of where the message of some elements lies among the messages of all chunks.
  void cut(int chunks, const ChunkOf& chunk_of, std::size_t piece_bytes, const Unit& unit,
           const PieceOf& piece_of);

  [[nodiscard]] int ranks() const { return static_cast<int>(slices_.size()); }
  [[nodiscard]] const std::vector<Slice>& of_chunk(int chunk) const {
    return slices_[static_cast<std::size_t>(chunk)];
  }
  /// Slices of the chunk that has most.
  [[nodiscard]] std::size_t most() const { return most_; }
  /// Of the messages of a chunk that come from all ranks, how far apart two are.
  [[nodiscard]] std::size_t stride_bytes(int chunk) const {
    return stride_bytes_[static_cast<std::size_t>(chunk)];
  }

 private:
  [[nodiscard]] bool are_cut(int chunks, const ChunkOf& chunk_of, const PieceOf& piece_of) const;

  std::size_t piece_bytes_ = 0;  ///< that slices were made for
  Unit unit_;
  std::vector<std::vector<Slice>> slices_;
  std::vector<std::size_t> stride_bytes_;
  std::size_t most_ = 0;
};

/// Where some elements lie in a buffer of numbers of so many bytes.
[[nodiscard]] Piece numbers_piece(const ElementRange& range, std::size_t bytes_per_number);

/// For a vector of numbers that are sent as they are.
template <class T>
void cut_numbers(SlicedChunks& slices, const ChunkLayout& chunks, std::size_t piece_bytes) {
  constexpr std::int64_t unit = ChunkLayout::alignment_elements;
  slices.cut(
      chunks.ranks(), [&](int j) { return chunks.chunk(j); }, piece_bytes, {unit, unit * sizeof(T)},
      [](const ElementRange& range) { return numbers_piece(range, sizeof(T)); });
}

/// Messages of 32-bit words: the words in so many bytes, and those of a piece.
[[nodiscard]] std::int64_t words_of(std::size_t bytes);
[[nodiscard]] Words<MemorySpace> part_of(const Words<MemorySpace>& all, const Piece& piece);

/// Slices of whole scale blocks of a block-coded message.
void cut_messages(SlicedChunks& slices, const BlockMessage& message, std::size_t piece_bytes);

/// A slice of the own chunk is not sent: it goes to where the others' are received.
void keep_own_message(const ExecutionSpace& exec, const SlicedChunks& slices, int rank, const Slice& slice,
                      const Words<MemorySpace>& messages, const Words<MemorySpace>& received);

}  // namespace kadam
