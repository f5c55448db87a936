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
  for (const std::int64_t elements : {0, 1, 63, 64, 65, 1000, 4096, 1048583}) {
    for (const int ranks : {1, 2, 3, 4, 7, 64}) {
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

TEST(ChunkLayout, RefusesNonsense) {
  EXPECT_THROW(ChunkLayout(-1, 2), std::invalid_argument);
  EXPECT_THROW(ChunkLayout(10, 0), std::invalid_argument);
}

}  // namespace
}  // namespace kadam
