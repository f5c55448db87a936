// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/wire/block_message.hpp>

#include <algorithm>
#include <stdexcept>
#include <string>

namespace kadam {

BlockMessage::BlockMessage(const ChunkLayout& chunks, std::int64_t block_elements, int bits, bool has_scale)
    : chunks_(chunks), bits_(bits) {
  if (block_elements < 0) {
    throw std::invalid_argument(
        "kadam::BlockMessage: expected a scale block of 0 (one per chunk) or more elements, got " +
        std::to_string(block_elements));
  }
  const std::int64_t chunk = chunks.chunk_elements();
  map_.elements = chunks.elements();
  map_.chunk_elements = chunk;
  map_.block_elements = block_elements == 0 ? chunk : std::min(block_elements, chunk);
  map_.scale_words = has_scale ? 1 : 0;
  map_.blocks_per_chunk = ceil_divide(chunk, map_.block_elements);
  map_.words_per_block = ceil_divide(map_.block_elements * bits, 32);
  map_.words_per_chunk = words_of(chunk);
  for (int j = 0; j < chunks.ranks(); ++j) {
    map_.blocks += ceil_divide(chunks.chunk(j).elements(), map_.block_elements);
  }
}

std::int64_t BlockMessage::words_of(std::int64_t chunk_elements) const {
  if (chunk_elements == 0) return 0;
  const std::int64_t full_blocks = chunk_elements / map_.block_elements;
  const std::int64_t rest = chunk_elements - full_blocks * map_.block_elements;
  return (full_blocks + (rest > 0 ? 1 : 0)) * map_.scale_words + full_blocks * map_.words_per_block +
         ceil_divide(rest * bits_, 32);
}

Piece BlockMessage::piece(int chunk) const {
  return piece(chunks_.chunk(chunk));
}

Piece BlockMessage::piece(const ElementRange& range) const {
  const std::int64_t first_word = words_before(range.begin);
  const std::int64_t words = range.elements() == 0 ? 0 : words_before(range.end) - first_word;
  constexpr std::size_t word_bytes = sizeof(std::uint32_t);
  return {static_cast<std::size_t>(first_word) * word_bytes, static_cast<std::size_t>(words) * word_bytes};
}

/// Earlier chunks count as full: the first chunk that is shorter has only empty ones behind it.
std::int64_t BlockMessage::words_before(std::int64_t element) const {
  if (map_.chunk_elements == 0) return 0;
  return (element / map_.chunk_elements) * map_.words_per_chunk + words_of(element % map_.chunk_elements);
}

std::vector<Piece> BlockMessage::pieces() const {
  std::vector<Piece> pieces;
  pieces.reserve(static_cast<std::size_t>(chunks_.ranks()));
  for (int j = 0; j < chunks_.ranks(); ++j) pieces.push_back(piece(j));
  return pieces;
}

std::size_t BlockMessage::total_bytes() const {
  const Piece last = piece(chunks_.ranks() - 1);
  return last.offset_bytes + last.bytes;
}

BlockMap BlockMessage::chunk_map(int chunk) const {
  BlockMap map = map_;
  map.elements = chunks_.chunk(chunk).elements();
  map.blocks = ceil_divide(map.elements, map_.block_elements);
  return map;
}

}  // namespace kadam
