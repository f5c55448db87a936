// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bytes that docs/wire_format.md shows are those that the kernels write.
#include <kadam/execution.hpp>
#include <kadam/kernels/block_coder.hpp>
#include <kadam/kernels/top_k.hpp>
#include <kadam/wire/block_message.hpp>
#include <kadam/wire/sparse_message.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <support/host_views.hpp>
#include <vector>

namespace kadam {
namespace {

/// The bytes of words as they lie in memory, the words of a block together.
std::string hex(const Words<MemorySpace>& words, std::size_t words_of_block) {
  const char* const digits = "0123456789abcdef";
  std::string text;
  std::size_t index = 0;
  for (const std::uint32_t word : test::to_host(words)) {
    if (index > 0) text += index % words_of_block == 0 ? "   " : " ";
    ++index;
    for (unsigned k = 0; k < 4; ++k) {
      const std::uint32_t byte = word >> (8 * k) & 0xFFU;
      text += digits[byte >> 4];
      text += digits[byte & 0xFU];
    }
  }
  return text;
}

template <class Q>
std::string codes(const Q& quantiser) {
  const BlockMessage message(ChunkLayout(5, 1), 4, Q::bits, Q::has_scale);
  const Words<MemorySpace> words("words", message.total_bytes() / 4);
  const ActiveMask<MemorySpace> all;
  const auto h = test::to_device<MemorySpace>(std::vector<float>{3.0F, -1.0F, 2.0F, -2.0F, 1.0F});
  encode_accumulated(ExecutionSpace{}, quantiser, message.map(), all, h, words);
  Kokkos::fence();
  return hex(words, 2);
}

std::string largest_entries() {
  const SparseMessage message(8, 4, 0.5);
  const Words<MemorySpace> words("words", message.total_bytes() / 4);
  const auto e =
      test::to_device<MemorySpace>(std::vector<float>{0.1F, -3.0F, 2.0F, 0.5F, 1.0F, 0.0F, 0.0F, -4.0F});
  select_top_k(ExecutionSpace{}, message.map(), e, Selected::stays, words);
  Kokkos::fence();
  return hex(words, 3);
}

TEST(WireFormatPage, ShowsTheBytesThatAreSent) {
  static_assert(std::endian::native == std::endian::little);
  std::ifstream file(KADAM_WIRE_FORMAT_PAGE);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& line :
       {"1 bit, mean_abs    " + codes(SignQuantiser{SignScale::mean_abs}),
        "4 bits             " + codes(UniformQuantiser<4>{}), "k = 2, w = 2       " + largest_entries()}) {
    EXPECT_NE(page.find("\n" + line + "\n"), std::string::npos) << KADAM_WIRE_FORMAT_PAGE << " lacks\n"
                                                                << line;
  }
}

}  // namespace
}  // namespace kadam
