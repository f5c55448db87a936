// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/layout/chunk_layout.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace kadam {
namespace {

TEST(ChunkLayout, HandSized) {
  const ChunkLayout chunks(301, 4);
  EXPECT_EQ(chunks.chunk_elements(), 128);
  EXPECT_EQ(chunks.chunk(0), (ElementRange{0, 128}));
  EXPECT_EQ(chunks.chunk(1), (ElementRange{128, 256}));
  EXPECT_EQ(chunks.chunk(2), (ElementRange{256, 301}));
  EXPECT_EQ(chunks.chunk(3), (ElementRange{301, 301}));
}

TEST(ChunkLayout, ChunksCoverTheVectorOnceAndStartAtMultiplesOf64) {
  for (const std::int64_t elements :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{63}, std::int64_t{64}, std::int64_t{65},
        std::int64_t{1000}, std::int64_t{4096}, std::int64_t{1048583}, (std::int64_t{1} << 33) + 12345,
        (std::int64_t{1} << 50) + 1}) {
    for (const int ranks : {1, 2, 3, 4, 7, 64, 1024}) {
      const ChunkLayout chunks(elements, ranks);
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const ElementRange chunk = chunks.chunk(rank);
        EXPECT_EQ(chunk.begin, next);
        if (chunk.elements() > 0) {
          EXPECT_EQ(chunk.begin % 64, 0);
        }
        EXPECT_LE(chunk.elements(), chunks.chunk_elements());
        next = chunk.end;
      }
      EXPECT_EQ(next, elements);
    }
  }
}

/// 301 elements in chunks of 128, 128, 45 and 0: two nodes of two ranks.
TEST(ChunkLayout, PartsAndJoinedChunksLieWhereTheChunksLie) {
  const ChunkLayout chunks(301, 4);
  const ChunkLayout joined = chunks.joined(2);
  EXPECT_EQ(joined.ranks(), 2);
  EXPECT_EQ(joined.chunk(0), (ElementRange{0, 256}));
  EXPECT_EQ(joined.chunk(1), (ElementRange{256, 301}));
  const ChunkLayout last = chunks.part(2, 2);
  EXPECT_EQ(last.elements(), 45);
  EXPECT_EQ(last.chunk_elements(), 128);
  EXPECT_EQ(last.chunk(0), (ElementRange{0, 45}));
  EXPECT_EQ(last.chunk(1), (ElementRange{45, 45}));
  EXPECT_EQ(chunks.part(3, 1).elements(), 0);
}

TEST(ChunkLayout, RefusesNonsense) {
  EXPECT_THROW(ChunkLayout(-1, 2), std::invalid_argument);
  EXPECT_THROW(ChunkLayout(10, 0), std::invalid_argument);
}

}  // namespace
}  // namespace kadam
