// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/wire/block_message.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace kadam {
namespace {

TEST(BlockMessage, HandSized) {
  const BlockMessage sign(ChunkLayout(128, 1), 64, 1, true);
  EXPECT_EQ(sign.total_bytes(), 24U);  // 2 scales, 2 blocks of 2 words
  const BlockMessage uniform(ChunkLayout(301, 4), 64, 4, true);
  EXPECT_EQ(uniform.piece(0), (Piece{0, 72}));    // 2 scales + 2 x 8 words
  EXPECT_EQ(uniform.piece(2), (Piece{144, 28}));  // 45 elements: 1 scale + 6 words
  EXPECT_EQ(uniform.piece(3), (Piece{172, 0}));
  const BlockMessage identity(ChunkLayout(10, 1), 0, 32, false);
  EXPECT_EQ(identity.total_bytes(), 40U);
}

TEST(BlockMessage, MeetsTheFormulaWhenEverythingDivides) {
  const std::int64_t d = 1 << 20;
  const BlockMessage message(ChunkLayout(d, 4), 2048, 1, true);
  EXPECT_EQ(message.total_bytes(), static_cast<std::size_t>(d / 8 + 4 * d / 2048));
}

/// Every word belongs to exactly one block or scale, whatever divides or not.
TEST(BlockMessage, BlocksShareNoWordAndLeaveNoneOut) {
  for (const std::int64_t d : {1, 31, 301, 1000, 5000}) {
    for (const std::int64_t block : {0, 1, 50, 64, 100, 2048}) {
      for (const int bits : {1, 2, 4, 8, 32}) {
        const BlockMessage message(ChunkLayout(d, 3), block, bits, bits != 32);
        std::vector<int> owners(message.total_bytes() / 4, 0);
        std::int64_t covered = 0;
        for (std::int64_t b = 0; b < message.map().blocks; ++b) {
          const auto place = message.map().block(b);
          if (bits != 32) ++owners.at(static_cast<std::size_t>(place.scale_word));
          const std::int64_t words = (place.elements * bits + 31) / 32;
          for (std::int64_t w = 0; w < words; ++w)
            ++owners.at(static_cast<std::size_t>(place.first_word + w));
          EXPECT_EQ(place.first_element, covered);
          EXPECT_EQ(message.map().block_of(place.first_element), b);
          EXPECT_EQ(message.map().block_of(place.first_element + place.elements - 1), b);
          covered += place.elements;
        }
        EXPECT_EQ(covered, d);
        EXPECT_EQ(owners, std::vector<int>(owners.size(), 1))
            << "d " << d << " block " << block << " bits " << bits;
      }
    }
  }
}

TEST(BlockMessage, RefusesANegativeBlock) {
  EXPECT_THROW(BlockMessage(ChunkLayout(10, 1), -1, 1, true), std::invalid_argument);
}

TEST(BlockMessage, AnEmptyVectorHasAnEmptyMessage) {
  const BlockMessage message(ChunkLayout(0, 2), 64, 1, true);
  EXPECT_EQ(message.total_bytes(), 0U);
  EXPECT_EQ(message.map().blocks, 0);
}

}  // namespace
}  // namespace kadam
