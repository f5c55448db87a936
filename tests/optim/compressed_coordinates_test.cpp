// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/grouped_mean.hpp>
#include <support/host_views.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace kadam {
namespace {

// Tensors kept dense come in order, those that do not move behind them: in no order, and some are both.
const std::vector<ElementRange>& ranges_in_no_order() {
  static const std::vector<ElementRange> ranges = {{150, 160}, {30, 50},   {10, 40},
                                                   {0, 1},     {160, 170}, {12, 14}};
  return ranges;
}

bool lies_outside(std::int64_t i) {
  for (const ElementRange& range : ranges_in_no_order()) {
    if (i >= range.begin && i < range.end) return false;
  }
  return true;
}

/// What the mask says of each element.
std::vector<bool> bits_of(const ActiveMask<MemorySpace>& active, std::int64_t elements) {
  const auto words = test::to_host(active.words);
  std::vector<bool> bits;
  for (std::int64_t i = 0; i < elements; ++i) {
    bits.push_back(((words[static_cast<std::size_t>(i / 32)] >> static_cast<unsigned>(i % 32)) & 1U) != 0);
  }
  return bits;
}

TEST(CompressedCoordinates, AreAllOutsideTheRangesInWhateverOrderTheseCome) {
  const ExecutionSpace exec;
  const std::int64_t elements = 200;
  const CompressedCoordinates coordinates(exec, elements, ranges_in_no_order());
  exec.fence();
  const std::vector<bool> bits = bits_of(coordinates.active(), elements);
  for (std::int64_t i = 0; i < elements; ++i)
    EXPECT_EQ(bits[static_cast<std::size_t>(i)], lies_outside(i)) << i;
}

TEST(CompressedCoordinates, HaveVarianceWhereItIsRequired) {
  const ExecutionSpace exec;
  const std::int64_t elements = 200;
  std::vector<float> v;
  for (std::int64_t i = 0; i < elements; ++i) v.push_back(i % 3 == 0 ? 0.0F : 1.0F);
  CompressedCoordinates coordinates(exec, elements, ranges_in_no_order());
  coordinates.require_variance(exec, test::to_device<MemorySpace>(v));
  EXPECT_EQ(coordinates.inactive_elements(), 67);
  const std::vector<bool> bits = bits_of(coordinates.active(), elements);
  for (std::int64_t i = 0; i < elements; ++i) {
    EXPECT_EQ(bits[static_cast<std::size_t>(i)], lies_outside(i) && i % 3 != 0) << i;
  }
}

}  // namespace
}  // namespace kadam
