// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/text_hash.hpp>
#include <kadam/wire/block_message.hpp>
#include <kadam/wire/factor_message.hpp>
#include <kadam/wire/sparse_message.hpp>
#include <wire/worked_examples.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kadam {
namespace {

void add(std::string& text, const Piece& piece) {
  text += std::to_string(piece.offset_bytes) + "+" + std::to_string(piece.bytes) + " ";
}

/// Where everything lies in messages of all kinds.
std::string layouts() {
  std::string text;
  for (const std::int64_t d : {1, 301, 5000, 100003}) {
    for (const int ranks : {1, 3, 8}) {
      const ChunkLayout chunks(d, ranks);
      for (const int bits : {1, 2, 4, 8}) {
        for (const std::int64_t block : {0, 64, 1000, 4096}) {
          const BlockMessage message(chunks, block, bits, true);
          for (const Piece& piece : message.pieces()) add(text, piece);
        }
      }
      for (const double density : {0.001, 0.01, 0.37}) {
        const SparseMessage message(d, 4096, density);
        for (int r = 0; r < ranks; ++r) add(text, message.piece(message.region(ranks, r)));
        text += std::to_string(message.map().block(0).first_index_word()) + "\n";
      }
    }
  }
  return text;
}

/// Where the blocks of messages with two levels lie.
std::string level_layouts() {
  std::string text;
  for (const std::int64_t d : {1, 301, 5000, 100003}) {
    for (const double density : {0.001, 1.0 / 64, 0.37}) {
      const SparseMessage message(d, 1000, density, SparseValues::two_levels);
      for (int r = 0; r < 8; ++r) add(text, message.piece(message.region(8, r)));
    }
  }
  return text;
}

/// The same in messages of factors.
std::string layouts_of_factors() {
  std::string text;
  const std::vector<std::int64_t> columns = {1, 300, 64, 77, 5000, 2, 2, 2};
  for (const int ranks : {1, 3, 8, 200}) {
    for (const int bits : {4, 8, 32}) {
      const FactorMessage message(columns, ranks, bits, bits < 32);
      for (const Piece& piece : message.pieces()) add(text, piece);
      for (const FactorBlock& block : message.blocks()) {
        add(text, {static_cast<std::size_t>(4 * block.first_word), static_cast<std::size_t>(block.elements)});
      }
    }
  }
  return text;
}

/// The bytes themselves: another order of scale and codes, of values and indices, or of bits shows here.
std::string encoded_examples() {
  std::string text = test::example_of_codes(SignQuantiser{SignScale::mean_abs}) + "\n";
  for_each_code([&](const auto& code) { text += test::example_of_codes(code) + "\n"; });
  return text + test::example_of_codes(IdentityQuantiser{}) + "\n" + test::example_of_largest_entries() +
         "\n" + test::example_of_two_levels() + "\n";
}

TEST(FactorMessage, HasABlockForEachPartOfAColumnInAChunk) {
  const FactorMessage message({100, 30}, 2, 8, true);
  ASSERT_EQ(message.blocks().size(), 3U);
  EXPECT_EQ(message.blocks()[1].first_element, 100);
  EXPECT_EQ(message.blocks()[1].elements, 28);
  EXPECT_EQ(message.blocks()[1].first_word, 26);
  EXPECT_EQ(message.columns(), (std::vector<std::size_t>{0, 1, 1}));
  EXPECT_EQ(message.first_block(1), 2);
  EXPECT_EQ(message.end_block(1), 3);
  EXPECT_EQ(message.pieces(), (std::vector<Piece>{{0, 136}, {136, 8}}));
  EXPECT_EQ(message.total_bytes(), 144U);
  EXPECT_EQ(FactorMessage({}, 3, 8, true).total_bytes(), 0U);
}

TEST(WireFormatVersion, GoesUpWithEveryChangeOfALayout) {
  EXPECT_EQ(wire_format_version, 3U);
  EXPECT_EQ(hash_of(layouts()), 11029578151239257922U)
      << "the byte layout of messages has changed: raise wire_format_version, and put this number here";
  EXPECT_EQ(hash_of(level_layouts()), 16932259375571537160U)
      << "the byte layout of messages has changed: raise wire_format_version, and put this number here";
  EXPECT_EQ(hash_of(layouts_of_factors()), 3683606310435599274U)
      << "the byte layout of factors has changed: raise wire_format_version, and put this number here";
  EXPECT_EQ(test::example_of_factors(UniformQuantiser<4>{}) + "\n" +
                test::example_of_factors(UniformQuantiser<8>{}) + "\n" +
                test::example_of_factors(IdentityQuantiser{}),
            "b76ddb3e 5e0c0000   2549923e a0000000\n"
            "0683c13c fe55d400   0402813c 00bf0000\n"
            "00004040 000080bf 00000040   000000c0 0000803f")
      << "the bytes of factors have changed: raise wire_format_version, and put these here";
  EXPECT_EQ(encoded_examples(),
            "00000040 05000000   0000803f 01000000\n"
            "b6c30740 05000000   0000803f 01000000\n"
            "00004040 26000000   0000803f 02000000\n"
            "b76ddb3e 5e2c0000   2549123e 0e000000\n"
            "0683c13c fe55d42a   0402013c fe000000\n"
            "b76ddb3b 7ef179f9   2549123b 7e000000\n"
            "b6c30740 23000000   0000803f 03000000\n"
            "00004040 000080bf   00000040 000000c0   0000803f\n"
            "000040c0 00000040 09000000   0000803f 000080c0 0c000000\n"
            "00000040 00004040 01b00000   0000803f 00008040 00c0000c\n")
      << "the bytes of messages have changed: raise wire_format_version, and put these here";
}

}  // namespace
}  // namespace kadam
