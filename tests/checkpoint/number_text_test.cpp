// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/number_text.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace kadam::checkpoint {
namespace {

/// What `value` becomes when its text is read in place of `other`.
template <class T>
T read_again(T value, T other) {
  EXPECT_TRUE(from_text(to_text(&value), &other)) << to_text(&value);
  return other;
}

TEST(NumberText, SaysAValueToTheLastBit) {
  EXPECT_EQ(read_again(true, false), true);
  EXPECT_EQ(read_again<std::int64_t>(std::numeric_limits<std::int64_t>::min(), 5),
            std::numeric_limits<std::int64_t>::min());
  for (const double value : {0.1, -1e-320, 1e300, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(read_again(value, 5.0), value);
    EXPECT_EQ(read_again<std::optional<double>>(value, 5.0), value);
  }
  EXPECT_EQ(read_again<std::vector<double>>({0.1, -2.0, 1e-310}, {5.0, 5.0, 5.0}),
            (std::vector<double>{0.1, -2.0, 1e-310}));
}

TEST(NumberText, OfNoValueIsNone) {
  EXPECT_EQ(read_again<std::optional<double>>(std::nullopt, 5.0), std::nullopt);
}

TEST(NumberText, OfSomethingElseSetsNothing) {
  bool flag = true;
  EXPECT_FALSE(from_text("1", &flag));
  EXPECT_TRUE(flag);
  std::int64_t count = 5;
  for (const char* text : {"", "4.5", "4 5", "four"}) EXPECT_FALSE(from_text(text, &count)) << text;
  EXPECT_EQ(count, 5);
  std::optional<double> number = 5.0;
  for (const char* text : {"", "non", "1.8p-3x"}) EXPECT_FALSE(from_text(text, &number)) << text;
  EXPECT_EQ(number, 5.0);
}

TEST(NumberText, OfAListOfAnotherLengthSetsNothing) {
  std::vector<double> values = {5.0, 6.0};
  for (const char* text : {"", "1", "1 2 3", "1 x"}) EXPECT_FALSE(from_text(text, &values)) << text;
  EXPECT_EQ(values, (std::vector<double>{5.0, 6.0}));
}

TEST(PlacementText, IsReadAgain) {
  const Placement placement{1000, {0, 256}, 4, 2};
  EXPECT_EQ(to_text(placement), "1000 0 256 4 2");
  const auto again = placement_from("1000 0 256 4 2");
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(to_text(*again), to_text(placement));
}

TEST(PlacementText, OfAnImpossibleOneIsRefused) {
  for (const char* text : {"", "1000 0 256 4", "1000 0 256 4 2 1", "1000 -1 256 4 2", "1000 256 0 4 2",
                           "1000 0 1001 4 2", "1000 0 256 4 4", "1000 0 256 4 -1", "d 0 256 4 2"}) {
    EXPECT_FALSE(placement_from(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace kadam::checkpoint
