// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/decomposition.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace kadam::test {
namespace {

using insitu::Block;
using insitu::Decomposition;

/// That every cell belongs to exactly one block.
void expect_covers(const Decomposition& decomposition) {
  std::vector<int> owners(static_cast<std::size_t>(decomposition.width() * decomposition.height()), 0);
  for (int rank = 0; rank < decomposition.ranks(); ++rank) {
    const Block block = decomposition.block(rank);
    for (std::int64_t y = block.y; y < block.y + block.height; ++y) {
      for (std::int64_t x = block.x; x < block.x + block.width; ++x)
        ++owners.at(static_cast<std::size_t>(y * decomposition.width() + x));
    }
  }
  for (const int count : owners) ASSERT_EQ(count, 1);
}

TEST(Decomposition, CoversTheGridWhateverTheNumbers) {
  for (int ranks = 1; ranks <= 13; ++ranks) {
    for (const auto& [width, height] : {std::pair{37, 29}, {13, 13}, {128, 16}, {14, 100}}) {
      expect_covers(Decomposition(ranks, width, height));
    }
  }
}

TEST(Decomposition, CutsWhereCutsAreShort) {
  const Decomposition wide(6, 90, 40);
  EXPECT_EQ(wide.columns(), 3);
  EXPECT_EQ(wide.rows(), 2);
  EXPECT_EQ(wide.block(4), (Block{30, 20, 30, 20}));
  const Decomposition tall(6, 40, 90);
  EXPECT_EQ(tall.columns(), 2);
  EXPECT_EQ(Decomposition(4, 400, 10).columns(), 4);
  EXPECT_EQ(Decomposition(7, 64, 64).ranks(), 7);
}

TEST(Decomposition, GivesTheFirstBlocksACellMore) {
  const Decomposition uneven(3, 11, 3);
  EXPECT_EQ(uneven.block(0), (Block{0, 0, 4, 3}));
  EXPECT_EQ(uneven.block(1), (Block{4, 0, 4, 3}));
  EXPECT_EQ(uneven.block(2), (Block{8, 0, 3, 3}));
}

TEST(Decomposition, RefusesBlocksThatAreTooSmall) {
  EXPECT_EQ(Decomposition(4, 12, 3, 3).columns(), 4);
  EXPECT_THROW(Decomposition(4, 11, 3, 3), std::invalid_argument);
  EXPECT_THROW(Decomposition(7, 6, 6), std::invalid_argument);
}

}  // namespace
}  // namespace kadam::test
