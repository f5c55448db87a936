// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/wire/sparse_message.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

namespace kadam {
namespace {

TEST(SparseMessage, HandSized) {
  const SparseMessage message(4096, 4096, 0.01);
  EXPECT_EQ(message.map().full.entries, 41);
  EXPECT_EQ(message.map().full.index_bits, 12);
  EXPECT_EQ(message.total_bytes(), 228U);  // 41 values + 16 words of indices
  // Two blocks of 100 (3 entries, 7 bits: 4 words) and one of 33 (1 entry, 6 bits: 2 words).
  const SparseMessage uneven(233, 100, 0.03);
  EXPECT_EQ(uneven.total_bytes(), 40U);
  EXPECT_EQ(uneven.map().block(2).first_word(), 8);
  EXPECT_EQ(uneven.map().block(2).first_index_word(), 9);
  EXPECT_EQ(uneven.map().entries(), 7);
}

TEST(SparseMessage, WithTwoLevelsIsPaddedToAByte) {
  const SparseMessage message(4096, 4096, 0.01, SparseValues::two_levels);
  EXPECT_EQ(message.map().full.entries, 41);
  EXPECT_EQ(message.total_bytes(), 80U);  // 8 and 574 bits
  // Two blocks of 100 (3 entries, 42 bits: 6 bytes) and one of 33 (1 entry: 2 bytes).
  const SparseMessage uneven(233, 100, 0.03, SparseValues::two_levels);
  EXPECT_EQ(uneven.map().block(1).first_byte, 14);
  EXPECT_EQ(uneven.map().block(2).first_byte, 28);
  EXPECT_EQ(uneven.total_bytes(), 38U);
  EXPECT_EQ(uneven.piece({100, 233}), (Piece{14, 24}));
  for (const std::int64_t d : {1, 1000, 5000, 20000}) {
    for (const double density : {0.001, 1.0 / 64, 0.37, 1.0}) {
      std::size_t bytes = 0;
      for (std::int64_t begin = 0; begin < d; begin += 4096) {
        const std::int64_t k = SparseMessage::entries_of(std::min<std::int64_t>(4096, d - begin), density);
        bytes += static_cast<std::size_t>(8 + (14 * k + 7) / 8);
      }
      EXPECT_EQ(SparseMessage(d, 4096, density, SparseValues::two_levels).total_bytes(), bytes);
    }
  }
  EXPECT_THROW(SparseMessage(5000, 4097, 0.1, SparseValues::two_levels), std::invalid_argument);
  EXPECT_THROW(SparseMessage(5000, 0, 0.1, SparseValues::two_levels), std::invalid_argument);
  EXPECT_EQ(SparseMessage(5000, 0, 0.1).map().blocks, 1);
}

TEST(SparseMessage, SendsAtLeastOneEntryAndAtMostTheBlock) {
  EXPECT_EQ(SparseMessage::entries_of(1, 0.001), 1);
  EXPECT_EQ(SparseMessage::entries_of(4096, 1.0 / 1024), 4);
  EXPECT_EQ(SparseMessage::entries_of(50, 0.01), 1);   // 0.5 is rounded up
  EXPECT_EQ(SparseMessage::entries_of(150, 0.01), 2);  // and so is 1.5
  EXPECT_EQ(SparseMessage::entries_of(149, 0.01), 1);
  EXPECT_EQ(SparseMessage::entries_of(33, 1.0), 33);
}

TEST(SparseMessage, ABlockOfOneElementHasNoIndices) {
  EXPECT_EQ(SparseMessage(1, 4096, 0.01).total_bytes(), 4U);
  EXPECT_EQ(SparseMessage(10, 1, 0.01).total_bytes(), 40U);
}

/// Every word belongs to the values or the indices of exactly one block.
TEST(SparseMessage, BlocksShareNoWordAndLeaveNoneOut) {
  for (const std::int64_t d : {1, 31, 301, 1000, 5000}) {
    for (const std::int64_t block : {0, 1, 50, 64, 1000, 4096}) {
      for (const double density : {0.001, 0.01, 0.37, 1.0}) {
        const SparseMessage message(d, block, density);
        std::vector<int> owners(message.total_bytes() / 4, 0);
        std::int64_t covered = 0;
        for (std::int64_t b = 0; b < message.map().blocks; ++b) {
          const auto place = message.map().block(b);
          EXPECT_EQ(place.first_element, covered);
          covered += place.elements;
          for (std::int64_t w = 0; w < place.shape.entries; ++w)
            ++owners.at(static_cast<std::size_t>(place.first_word() + w));
          for (std::int64_t w = 0; w < place.shape.index_words(); ++w)
            ++owners.at(static_cast<std::size_t>(place.first_index_word() + w));
          EXPECT_GE(std::int64_t{1} << place.shape.index_bits, place.elements);
        }
        EXPECT_EQ(covered, d);
        EXPECT_EQ(owners, std::vector<int>(owners.size(), 1)) << "d " << d << " block " << block;
      }
    }
  }
}

TEST(SparseMessage, RegionsCutTheMessageBetweenBlocks) {
  for (const std::int64_t d : {1, 100, 301, 5000}) {
    for (const std::int64_t block : {1, 50, 64, 4096}) {
      const SparseMessage message(d, block, 0.1);
      for (const int ranks : {1, 2, 3, 4, 7}) {
        std::int64_t element = 0;
        std::size_t byte = 0;
        for (int r = 0; r < ranks; ++r) {
          const ElementRange region = message.region(ranks, r);
          const Piece piece = message.piece(message.region(ranks, r));
          EXPECT_EQ(region.begin, element);
          EXPECT_TRUE(region.begin % block == 0 || region.begin == d);
          EXPECT_EQ(piece.offset_bytes, byte);
          const auto map = message.map_of(message.region(ranks, r));
          EXPECT_EQ(map.elements, region.elements());
          std::int64_t bytes = 0;
          for (std::int64_t b = 0; b < map.blocks; ++b) bytes += map.block(b).shape.bytes();
          EXPECT_EQ(piece.bytes, static_cast<std::size_t>(bytes));
          element = region.end;
          byte += piece.bytes;
        }
        EXPECT_EQ(element, d);
        EXPECT_EQ(byte, message.total_bytes());
      }
    }
  }
}

TEST(SparseMessage, RefusesWhatItCannotMean) {
  EXPECT_THROW(SparseMessage(-1, 64, 0.1), std::invalid_argument);
  EXPECT_THROW(SparseMessage(10, -1, 0.1), std::invalid_argument);
  for (const double density : {0.0, -0.1, 1.01, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_THROW(SparseMessage(10, 64, density), std::invalid_argument);
  EXPECT_THROW(SparseMessage(std::int64_t{1} << 32, 0, 0.1), std::invalid_argument);
  EXPECT_EQ(SparseMessage((std::int64_t{1} << 32) - 1, 0, 0.1).map().full.index_bits, 32);
}

TEST(SparseMessage, AnEmptyVectorHasAnEmptyMessage) {
  const SparseMessage message(0, 64, 0.1);
  EXPECT_EQ(message.total_bytes(), 0U);
  EXPECT_EQ(message.map().blocks, 0);
  EXPECT_EQ(message.piece(message.region(3, 2)), (Piece{0, 0}));
}

}  // namespace
}  // namespace kadam
