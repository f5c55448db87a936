// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/sliced_messages.hpp>

namespace kadam {

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
