// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/layout/chunk_layout.hpp>

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace kadam {
namespace {

TEST(ElementSet, HandSized) {
  ElementSet set;
  EXPECT_EQ(set.add({0, 4}), (ElementRange{0, 4}));
  EXPECT_EQ(set.add({8, 9}), (ElementRange{8, 9}));
  EXPECT_EQ(set.add({2, 6}), (ElementRange{0, 6}));
  EXPECT_EQ(set.add({7, 7}), (ElementRange{7, 7})) << "an empty range joins nothing";
  EXPECT_EQ(set.add({7, 8}), (ElementRange{7, 9})) << "neighbours are one range";
  EXPECT_EQ(set.add({6, 7}), (ElementRange{0, 9}));
  EXPECT_EQ(set.add({3, 5}), (ElementRange{0, 9})) << "what was there already";
}

TEST(ElementSet, EqualsAMaskOfElements) {
  std::mt19937 random(1);  // NOLINT(cert-msc51-cpp): the same in every run
  const auto below = [&](std::uint32_t limit) { return static_cast<std::int64_t>(random() % limit); };
  for (int run = 0; run < 20; ++run) {
    ElementSet set;
    std::vector<bool> mask(202, false);  // an element before the first and one after the last, never set
    for (int k = 0; k < 40; ++k) {
      const std::int64_t begin = 1 + below(200);
      const ElementRange range{begin, std::min<std::int64_t>(begin + 1 + below(12), 201)};
      for (std::int64_t i = range.begin; i < range.end; ++i) mask[static_cast<std::size_t>(i)] = true;
      ElementRange wanted = range;
      while (mask[static_cast<std::size_t>(wanted.begin - 1)]) --wanted.begin;
      while (mask[static_cast<std::size_t>(wanted.end)]) ++wanted.end;
      EXPECT_EQ(set.add(range), wanted);
    }
  }
}

}  // namespace
}  // namespace kadam
