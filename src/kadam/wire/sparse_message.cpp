// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/wire/sparse_message.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace kadam {
namespace {

SparseMap::Shape shape_of(std::int64_t block_elements, double density, SparseValues values) {
  const auto largest_index = static_cast<std::uint64_t>(block_elements - 1);
  return {SparseMessage::entries_of(block_elements, density),
          static_cast<std::int64_t>(std::bit_width(largest_index)), values};
}

}  // namespace

SparseMessage::SparseMessage(std::int64_t elements, std::int64_t select_block, double density,
                             SparseValues values) {
  if (elements < 0 || select_block < 0) {
    throw std::invalid_argument("kadam::SparseMessage: expected 0 or more elements and a select block of 0 " +
                                std::string("(the whole vector) or more elements, got ") +
                                std::to_string(elements) + " and " + std::to_string(select_block));
  }
  if (!(density > 0.0 && density <= 1.0)) {
    throw std::invalid_argument("kadam::SparseMessage: expected a density above 0 and at most 1, got " +
                                std::to_string(density));
  }
  if (elements == 0) return;
  map_.elements = elements;
  map_.block_elements = select_block == 0 ? elements : std::min(select_block, elements);
  if (map_.block_elements > std::int64_t{std::numeric_limits<std::uint32_t>::max()}) {
    throw std::invalid_argument(
        "kadam::SparseMessage: a select block of " + std::to_string(map_.block_elements) +
        " elements needs indices of more than 32 bits: choose a shorter select_block");
  }
  if (values == SparseValues::two_levels && map_.block_elements > largest_level_block) {
    throw std::invalid_argument(
        "kadam::SparseMessage: a select block of " + std::to_string(map_.block_elements) +
        " elements needs indices of more than 12 bits, too many beside values of 2 bits: "
        "choose a select_block of at most 4096");
  }
  map_.blocks = (elements + map_.block_elements - 1) / map_.block_elements;
  map_.full = shape_of(map_.block_elements, density, values);
  map_.last = shape_of(elements - (map_.blocks - 1) * map_.block_elements, density, values);
}

std::int64_t SparseMessage::entries_of(std::int64_t block_elements, double density) {
  const double wanted = std::floor(density * static_cast<double>(block_elements) + 0.5);
  return std::clamp(static_cast<std::int64_t>(wanted), std::int64_t{1}, block_elements);
}

std::size_t SparseMessage::offset_bytes(std::int64_t block) const {
  if (map_.blocks == 0) return 0;
  return static_cast<std::size_t>(block < map_.blocks ? block * map_.full.bytes()
                                                      : (block - 1) * map_.full.bytes() + map_.last.bytes());
}

std::size_t SparseMessage::total_bytes() const {
  return offset_bytes(map_.blocks);
}

std::int64_t SparseMessage::first_block(int ranks, int rank) const {
  const std::int64_t per_region = (map_.blocks + ranks - 1) / ranks;
  return std::min(rank * per_region, map_.blocks);
}

ElementRange SparseMessage::region(int ranks, int rank) const {
  return {std::min(first_block(ranks, rank) * map_.block_elements, map_.elements),
          std::min(first_block(ranks, rank + 1) * map_.block_elements, map_.elements)};
}

Piece SparseMessage::piece(const ElementRange& range) const {
  const std::size_t begin = offset_bytes(blocks_before(range.begin));
  return {begin, offset_bytes(blocks_before(range.end)) - begin};
}

std::int64_t SparseMessage::blocks_before(std::int64_t element) const {
  return map_.blocks == 0 ? 0 : (element + map_.block_elements - 1) / map_.block_elements;
}

SparseMap SparseMessage::map_of(const ElementRange& range) const {
  SparseMap map = map_;
  map.elements = range.elements();
  map.blocks = blocks_before(range.end) - blocks_before(range.begin);
  if (range.end < map_.elements) map.last = map_.full;
  return map;
}

}  // namespace kadam
