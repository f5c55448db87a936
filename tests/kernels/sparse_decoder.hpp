// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

namespace kadam::test {

using Entries = std::vector<std::pair<std::int64_t, float>>;

/// k of a block of so many elements.
inline std::size_t entries_sent(std::int64_t length, double density) {
  const auto wanted = static_cast<std::int64_t>(density * static_cast<double>(length) + 0.5);
  return static_cast<std::size_t>(std::min(length, std::max<std::int64_t>(1, wanted)));
}

/// The entries of a sparse message, bit by bit from the description of the format: block after block, k
/// values, then k indices in as few bits as the largest needs.
inline Entries decode_sparse(const std::vector<std::uint32_t>& words, std::int64_t elements,
                             std::int64_t block, double density) {
  Entries entries;
  std::size_t word = 0;
  for (std::int64_t begin = 0; begin < elements; begin += block) {
    const std::int64_t length = std::min(block, elements - begin);
    const std::size_t k = entries_sent(length, density);
    std::size_t bits = 0;
    while ((std::int64_t{1} << bits) < length) ++bits;
    for (std::size_t p = 0; p < k; ++p) {
      std::int64_t index = 0;
      for (std::size_t b = 0; b < bits; ++b) {
        const std::size_t place = p * bits + b;
        const std::uint32_t from = words.at(word + k + place / 32);
        index |= static_cast<std::int64_t>((from >> (place % 32)) & 1U) << b;
      }
      entries.emplace_back(begin + index, std::bit_cast<float>(words.at(word + p)));
    }
    word += k + (k * bits + 31) / 32;
  }
  return entries;
}

/// The same of a message with two levels: block after block, two magnitudes, then entries of 14 bits, padded
/// to a byte.
inline Entries decode_two_levels(const std::vector<std::uint8_t>& bytes, std::int64_t elements,
                                 std::int64_t block, double density) {
  Entries entries;
  std::size_t byte = 0;
  for (std::int64_t begin = 0; begin < elements; begin += block) {
    const std::int64_t length = std::min(block, elements - begin);
    const std::size_t k = entries_sent(length, density);
    float levels[2];
    std::memcpy(levels, &bytes.at(byte + 7) - 7, sizeof(levels));
    for (std::size_t p = 0; p < k; ++p) {
      std::uint32_t entry = 0;
      for (std::size_t b = 0; b < 14; ++b) {
        const std::size_t place = p * 14 + b;
        entry |= (bytes.at(byte + 8 + place / 8) >> (place % 8) & 1U) << b;
      }
      const float magnitude = levels[entry >> 13U];
      entries.emplace_back(begin + (entry & 4095U), (entry >> 12U & 1U) != 0 ? -magnitude : magnitude);
    }
    byte += 8 + (14 * k + 7) / 8;
  }
  return entries;
}

}  // namespace kadam::test
