// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/exchange.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kadam {
namespace {

/// Slices of a chunk follow each other from its start to its end, all but the last in whole units; so do the
/// pieces of a message, where it is sent from and where it is received.
void expect_chunks_covered(const SlicedChunks& slices, const ChunkLayout& chunks, std::int64_t unit_elements,
                           const std::function<Piece(const ElementRange&)>& piece_of,
                           const std::string& where) {
  ASSERT_EQ(slices.ranks(), chunks.ranks()) << where;
  std::size_t most = 0;
  for (int j = 0; j < chunks.ranks(); ++j) {
    const ElementRange chunk = chunks.chunk(j);
    const Piece whole = piece_of(chunk);
    std::int64_t element = chunk.begin;
    std::size_t byte = 0;
    std::int64_t length = 0;
    for (const Slice& slice : slices.of_chunk(j)) {
      ASSERT_EQ(slice.elements.begin, element) << where;
      ASSERT_GT(slice.elements.end, element) << where;
      if (element == chunk.begin) length = slice.elements.elements();
      if (slice.elements.end != chunk.end) {
        ASSERT_EQ(slice.elements.elements() % unit_elements, 0) << where;
        ASSERT_EQ(slice.elements.elements(), length) << where;
      }
      ASSERT_EQ(slice.sent, piece_of(slice.elements)) << where;
      ASSERT_EQ(slice.sent.offset_bytes, whole.offset_bytes + byte) << where;
      ASSERT_EQ(slice.received, (Piece{byte, slice.sent.bytes})) << where;
      element = slice.elements.end;
      byte += slice.sent.bytes;
    }
    EXPECT_EQ(element, chunk.end) << where;
    EXPECT_EQ(byte, whole.bytes) << where;
    EXPECT_EQ(slices.stride_bytes(j), whole.bytes) << where;
    EXPECT_LE(slices.of_chunk(j).size(), Exchange::most_numbers) << where;
    most = std::max(most, slices.of_chunk(j).size());
  }
  EXPECT_EQ(slices.most(), most) << where;
}

template <class T>
void expect_numbers_covered(std::int64_t d, int ranks, std::size_t piece_bytes) {
  const ChunkLayout chunks(d, ranks);
  SlicedChunks slices;
  cut_numbers<T>(slices, chunks, piece_bytes);
  expect_chunks_covered(
      slices, chunks, ChunkLayout::alignment_elements,
      [](const ElementRange& range) { return numbers_piece(range, sizeof(T)); },
      "d " + std::to_string(d) + " ranks " + std::to_string(ranks) + " pieces " +
          std::to_string(piece_bytes));
}

void expect_messages_covered(const BlockMessage& message, std::size_t piece_bytes) {
  SlicedChunks slices;
  cut_messages(slices, message, piece_bytes);
  expect_chunks_covered(
      slices, message.chunks(), message.map().block_elements,
      [&](const ElementRange& range) { return message.piece(range); },
      "d " + std::to_string(message.chunks().elements()) + " pieces " + std::to_string(piece_bytes));
}

TEST(SlicedChunks, CoverEachChunkExactlyOnceInWholeUnits) {
  for (const std::int64_t d : {0, 1, 63, 64, 65, 301, 5000, 100003}) {
    for (const int ranks : {1, 2, 3, 4, 7}) {
      for (const std::size_t piece_bytes : {1U, 255U, 256U, 257U, 4096U, 1U << 30U}) {
        expect_numbers_covered<float>(d, ranks, piece_bytes);
        expect_numbers_covered<Bfloat16>(d, ranks, piece_bytes);
        for (const std::int64_t block : {0, 50, 64, 2048}) {
          for (const int bits : {1, 4, 8}) {
            expect_messages_covered(BlockMessage(ChunkLayout(d, ranks), block, bits, true), piece_bytes);
          }
        }
      }
    }
  }
}

TEST(SlicedChunks, HandSized) {
  const ChunkLayout chunks(1000, 2);
  SlicedChunks slices;
  const auto cut = [&](std::size_t piece_bytes) {
    slices.cut(
        2, [&](int j) { return chunks.chunk(j); }, piece_bytes, {8, 32},
        [](const ElementRange& range) { return numbers_piece(range, 4); });
    std::vector<std::int64_t> lengths;
    for (const Slice& slice : slices.of_chunk(0)) lengths.push_back(slice.elements.elements());
    return lengths;
  };
  using Lengths = std::vector<std::int64_t>;
  EXPECT_EQ(cut(800), (Lengths{200, 200, 112}));  // 25 units make exactly so many bytes
  EXPECT_EQ(slices.of_chunk(1).size(), 3U);
  EXPECT_EQ(slices.of_chunk(1)[2].elements, (ElementRange{912, 1000}));
  EXPECT_EQ(slices.of_chunk(1)[2].sent, (Piece{3648, 352}));
  EXPECT_EQ(slices.of_chunk(1)[2].received, (Piece{1600, 352}));
  EXPECT_EQ(cut(801), (Lengths{200, 200, 112}));
  EXPECT_EQ(cut(799), (Lengths{192, 192, 128}));
  EXPECT_EQ(cut(2048), (Lengths{512}));  // the whole chunk is exactly one piece
  EXPECT_EQ(cut(2047), (Lengths{504, 8}));
  EXPECT_EQ(cut(31), Lengths(64, 8));  // at least one unit
}

/// What is more than so many has no number left that MPI promises.
TEST(SlicedChunks, AreNeverMoreThanThereAreNumbers) {
  constexpr auto most = static_cast<std::int64_t>(Exchange::most_numbers);
  for (const std::int64_t units : {most - 1, most, most + 1, 2 * most, 2 * most + 1, 5 * most + 3}) {
    for (const int ranks : {1, 2}) {
      expect_numbers_covered<float>(64 * units * ranks, ranks, 1);
      expect_numbers_covered<float>(64 * units * ranks - 63, ranks, 1);
      expect_messages_covered(BlockMessage(ChunkLayout(64 * units * ranks, ranks), 64, 1, true), 4);
    }
  }
}

/// Elements beyond 32 bits, bytes beyond 36.
TEST(SlicedChunks, CoverVectorsOfMoreThan32Bits) {
  constexpr std::int64_t d = (std::int64_t{1} << 33) + 12345;
  constexpr std::size_t piece_bytes = std::size_t{60} << 10U;
  for (const int ranks : {1, 2, 5, 1024}) {
    expect_numbers_covered<float>(d, ranks, piece_bytes);
    for (const int bits : {1, 8}) {
      for (const std::int64_t block : {0, 2048}) {
        const BlockMessage message(ChunkLayout(d, ranks), block, bits, true);
        expect_messages_covered(message, piece_bytes);
        EXPECT_GE(message.total_bytes(), static_cast<std::size_t>(d / 8 * bits));
        EXPECT_LE(message.total_bytes(), static_cast<std::size_t>(d / 8 * bits + 4 * d / 2000 + 8 * ranks));
      }
    }
  }
}

/// A second call with other chunks, units or layouts does not keep what the first has cut.
TEST(SlicedChunks, AreCutAnewForWhatIsNew) {
  SlicedChunks slices;
  const auto expect_numbers = [&]<class T>(T /*number*/, const ChunkLayout& chunks) {
    cut_numbers<T>(slices, chunks, 4096);
    expect_chunks_covered(
        slices, chunks, 64, [](const ElementRange& range) { return numbers_piece(range, sizeof(T)); },
        "d " + std::to_string(chunks.elements()));
  };
  const auto expect_messages = [&](const BlockMessage& message) {
    cut_messages(slices, message, 4096);
    expect_chunks_covered(
        slices, message.chunks(), message.map().block_elements,
        [&](const ElementRange& range) { return message.piece(range); },
        "d " + std::to_string(message.chunks().elements()));
  };
  const ChunkLayout chunks(100003, 3);
  expect_numbers(float{}, chunks);
  expect_numbers(float{}, ChunkLayout(100002, 3));      // the last chunk is shorter
  expect_numbers(float{}, ChunkLayout(2 * 100003, 3));  // all are longer
  expect_numbers(float{}, ChunkLayout(100003, 4));
  expect_numbers(float{}, ChunkLayout(0, 4));
  expect_numbers(float{}, chunks);
  expect_numbers(Bfloat16{}, chunks);
  expect_messages(BlockMessage(chunks, 64, 1, true));
  expect_messages(BlockMessage(chunks, 64, 2, true));
  expect_messages(BlockMessage(chunks, 128, 2, true));
  // The units are the same, 32 bytes; their places are not.
  expect_messages(BlockMessage(chunks, 224, 1, true));
  expect_messages(BlockMessage(chunks, 256, 1, false));
}

/// Each of the arguments alone.
TEST(SlicedChunks, AreCutAnewForEveryArgumentThatIsNew) {
  const ChunkLayout chunks(5000, 2);
  const auto chunk_of = [&](int j) { return chunks.chunk(j); };
  const auto piece_of = [](const ElementRange& range) { return numbers_piece(range, 4); };
  const auto behind_a_header = [](const ElementRange& range) {
    const Piece piece = numbers_piece(range, 4);
    return Piece{piece.offset_bytes + 1000, piece.bytes};
  };
  SlicedChunks slices;
  slices.cut(2, chunk_of, 768, {64, 256}, piece_of);
  EXPECT_EQ(slices.of_chunk(0)[0].elements.elements(), 192);
  slices.cut(2, chunk_of, 768, {128, 512}, piece_of);
  EXPECT_EQ(slices.of_chunk(0)[0].elements.elements(), 128);
  slices.cut(2, chunk_of, 768, {128, 256}, piece_of);
  EXPECT_EQ(slices.of_chunk(0)[0].elements.elements(), 384);
  slices.cut(2, chunk_of, 512, {128, 256}, piece_of);
  EXPECT_EQ(slices.of_chunk(0)[0].elements.elements(), 256);
  slices.cut(2, chunk_of, 512, {128, 256}, behind_a_header);
  EXPECT_EQ(slices.of_chunk(0)[0].sent, (Piece{1000, 1024}));
}

TEST(SlicedChunks, AreKeptForWhatIsTheSame) {
  SlicedChunks slices;
  const ChunkLayout chunks(100003, 3);
  cut_numbers<float>(slices, chunks, 4096);
  const Slice* const first = slices.of_chunk(0).data();
  cut_numbers<float>(slices, ChunkLayout(100003, 3), 4096);
  EXPECT_EQ(slices.of_chunk(0).data(), first) << "steps after the first one allocate nothing";
}

}  // namespace
}  // namespace kadam
