// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/exchange.hpp>

#include <algorithm>

namespace kadam {

/// Whether the slices are those of these chunks. Different message layouts have the last piece of a chunk in
/// different places.
bool SlicedChunks::are_cut(int chunks, const ChunkOf& chunk_of, const PieceOf& piece_of) const {
  if (chunks != ranks()) return false;
  for (int j = 0; j < chunks; ++j) {
    const ElementRange chunk = chunk_of(j);
    const std::vector<Slice>& slices = of_chunk(j);
    if (slices.empty() != (chunk.elements() == 0)) return false;
    if (slices.empty()) continue;
    if (slices.front().elements.begin != chunk.begin || slices.back().elements.end != chunk.end) return false;
    if (slices.back().sent != piece_of(slices.back().elements)) return false;
  }
  return true;
}

void SlicedChunks::cut(int chunks, const ChunkOf& chunk_of, std::size_t piece_bytes, const Unit& unit,
                       const PieceOf& piece_of) {
  if (piece_bytes == piece_bytes_ && unit == unit_ && are_cut(chunks, chunk_of, piece_of)) return;
  piece_bytes_ = piece_bytes;
  unit_ = unit;
  std::int64_t longest = 0;
  for (int j = 0; j < chunks; ++j) longest = std::max(longest, chunk_of(j).elements());
  constexpr auto most_slices = static_cast<std::int64_t>(Exchange::most_numbers);
  // A unit of a vector without elements may have no bytes to divide by.
  const std::int64_t units = longest == 0 ? 1
                                          : std::max(static_cast<std::int64_t>(piece_bytes / unit.bytes),
                                                     longest / unit.elements / most_slices + 1);
  const std::int64_t length = unit.elements * units;
  slices_.assign(static_cast<std::size_t>(chunks), {});
  stride_bytes_.assign(slices_.size(), 0);
  most_ = 0;
  for (int j = 0; j < chunks; ++j) {
    const ElementRange chunk = chunk_of(j);
    std::vector<Slice>& slices = slices_[static_cast<std::size_t>(j)];
    std::size_t& message_bytes = stride_bytes_[static_cast<std::size_t>(j)];
    for (std::int64_t begin = chunk.begin; begin < chunk.end; begin += length) {
      const ElementRange elements{begin, std::min(begin + length, chunk.end)};
      const Piece sent = piece_of(elements);
      slices.push_back({elements, sent, {message_bytes, sent.bytes}});
      message_bytes += sent.bytes;
    }
    most_ = std::max(most_, slices.size());
  }
}

Piece numbers_piece(const ElementRange& range, std::size_t bytes_per_number) {
  return {static_cast<std::size_t>(range.begin) * bytes_per_number,
          static_cast<std::size_t>(range.elements()) * bytes_per_number};
}

std::int64_t words_of(std::size_t bytes) {
  return static_cast<std::int64_t>(bytes / sizeof(std::uint32_t));
}

Words<MemorySpace> part_of(const Words<MemorySpace>& all, const Piece& piece) {
  const std::int64_t first = words_of(piece.offset_bytes);
  return Kokkos::subview(all, Kokkos::make_pair(first, first + words_of(piece.bytes)));
}

void cut_messages(SlicedChunks& slices, const BlockMessage& message, std::size_t piece_bytes) {
  const BlockMap& map = message.map();
  const auto words = static_cast<std::size_t>(map.scale_words + map.words_per_block);
  slices.cut(
      message.chunks().ranks(), [&](int j) { return message.chunks().chunk(j); }, piece_bytes,
      {map.block_elements, sizeof(std::uint32_t) * words},
      [&](const ElementRange& range) { return message.piece(range); });
}

void keep_own_message(const ExecutionSpace& exec, const SlicedChunks& slices, int rank, const Slice& slice,
                      const Words<MemorySpace>& messages, const Words<MemorySpace>& received) {
  const std::size_t own = static_cast<std::size_t>(rank) * slices.stride_bytes(rank);
  Kokkos::deep_copy(exec, part_of(received, {own + slice.received.offset_bytes, slice.received.bytes}),
                    part_of(messages, slice.sent));
}

}  // namespace kadam
