// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/detail/block_loop.hpp>
#include <kernels/execution_spaces.hpp>
#include <support/host_views.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace kadam {
namespace {

template <class Exec>
class BlockLoopTest : public testing::Test {};
TYPED_TEST_SUITE(BlockLoopTest, test::ExecutionSpaces);

/// The largest value of each block, at once and in two halves.
template <class Space>
struct LargestOfBlocks {
  std::int64_t elements;
  Kokkos::View<const float*, Space> values;
  Kokkos::View<float*, Space> largest;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t block) const {
    const float* const own = values.data() + block * elements;
    const float whole = member.max(elements, [&](const std::int64_t k) { return own[k]; });
    const std::int64_t half = elements / 2;
    typename Member::Max parts;
    parts.add(member, half, [&](const std::int64_t k) { return own[k]; });
    parts.add(member, elements - half, [&](const std::int64_t k) { return own[half + k]; });
    const float of_parts = parts.value(member);
    member.once([&] {
      largest(static_cast<std::size_t>(2 * block)) = whole;
      largest(static_cast<std::size_t>(2 * block + 1)) = of_parts;
    });
  }
};

TYPED_TEST(BlockLoopTest, TakesNaNForTheLargestAndNothingBelowZero) {
  using Space = typename TypeParam::memory_space;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::int64_t elements : {1, 33, 300}) {
    std::vector<float> values(static_cast<std::size_t>(4 * elements), -1.0F);
    const auto at = [&](const std::int64_t block, const std::int64_t k) -> float& {
      return values[static_cast<std::size_t>(block * elements + k)];
    };
    at(1, elements - 1) = 2.5F;
    at(2, 0) = nan;
    at(3, elements / 3) = std::numeric_limits<float>::infinity();
    at(3, elements - 1) = nan;
    const Kokkos::View<float*, Space> largest("largest", 8);
    const LargestOfBlocks<Space> loop{elements, test::to_device<Space>(values), largest};
    detail::for_each_block("kadam::test::largest", TypeParam{}, 0, 4, loop);
    const std::vector<float> got = test::to_host(largest);
    for (std::size_t k = 0; k < 2; ++k) {
      EXPECT_EQ(got[k], 0.0F);
      EXPECT_EQ(got[2 + k], 2.5F);
      EXPECT_TRUE(std::isnan(got[4 + k])) << elements;
      EXPECT_TRUE(std::isnan(got[6 + k])) << elements;
    }
  }
}

}  // namespace
}  // namespace kadam
