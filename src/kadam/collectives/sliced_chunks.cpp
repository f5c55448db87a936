// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/exchange.hpp>

#include <algorithm>

namespace kadam {

void SlicedChunks::cut(int chunks, const std::function<ElementRange(int)>& chunk_of, std::size_t piece_bytes,
                       const Unit& unit, const std::function<Piece(const ElementRange&)>& piece_of) {
  if (piece_bytes == piece_bytes_) return;
  piece_bytes_ = piece_bytes;
  std::int64_t longest = 0;
  for (int j = 0; j < chunks; ++j) longest = std::max(longest, chunk_of(j).elements());
  constexpr auto most_slices = static_cast<std::int64_t>(Exchange::most_numbers);
  const std::int64_t units = std::max(static_cast<std::int64_t>(piece_bytes / unit.bytes),
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

}  // namespace kadam
