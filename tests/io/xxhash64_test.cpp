// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/xxhash64.hpp>

#include <gtest/gtest.h>

#include <string>

namespace kadam::io::xxhash64_test {
namespace {

std::uint64_t hash_of(const std::string& text) {
  XxHash64 hash;
  hash.add(std::as_bytes(std::span(text)));
  return hash.value();
}

/// As the reference implementation prints them.
TEST(XxHash64, EqualsTheReference) {
  EXPECT_EQ(hash_of(""), 0xef46db3751d8e999U);
  EXPECT_EQ(hash_of("a"), 0xd24ec4f1a98c6e5bU);
  EXPECT_EQ(hash_of("abc"), 0x44bc2cf5ad770999U);
  EXPECT_EQ(hash_of("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1U);
}

TEST(XxHash64, DoesNotDependOnHowTheBytesCome) {
  std::string text;
  for (int k = 0; k < 200; ++k) text += static_cast<char>(k * 37);
  for (std::size_t first = 0; first <= text.size(); ++first) {
    for (const std::size_t second : {std::size_t{0}, std::size_t{5}, std::size_t{31}, std::size_t{64}}) {
      XxHash64 hash;
      const auto bytes = std::as_bytes(std::span(text));
      const std::size_t middle = std::min(second, bytes.size() - first);
      hash.add(bytes.first(first));
      hash.add(bytes.subspan(first, middle));
      hash.add(bytes.subspan(first + middle));
      ASSERT_EQ(hash.value(), hash_of(text)) << first << " " << second;
    }
  }
}

}  // namespace
}  // namespace kadam::io::xxhash64_test
