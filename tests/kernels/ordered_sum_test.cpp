// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/ordered_sum.hpp>
#include <kernels/execution_spaces.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <cmath>
#include <limits>
#include <vector>

namespace kadam {
namespace {

template <class Exec, class Function>
double sum_of(std::int64_t n, const Function& function) {
  return ordered_sum(Exec{}, n, function, SumSpace<typename Exec::memory_space>(n));
}

template <class Exec>
class OrderedSumTest : public testing::Test {};
TYPED_TEST_SUITE(OrderedSumTest, test::ExecutionSpaces);

TYPED_TEST(OrderedSumTest, IsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const std::vector<float> values = test::random_vector(n, 7);
    const Kokkos::View<const float*, Space> view = test::to_device<Space>(values);
    double squares = 0.0;
    double magnitudes = 0.0;
    for (const float value : values) {
      squares += static_cast<double>(value) * static_cast<double>(value);
      magnitudes += std::fabs(static_cast<double>(value));
    }
    EXPECT_NEAR(sum_of<TypeParam>(n, SquareOf<Space>{view}), squares, 1e-12 * (1.0 + squares));
    EXPECT_NEAR(sum_of<TypeParam>(n, MagnitudeOf<Space>{view}), magnitudes, 1e-12 * (1.0 + magnitudes));
  }
}

TYPED_TEST(OrderedSumTest, IsFiniteExactlyWhenAllValuesAre) {
  using Space = typename TypeParam::memory_space;
  std::vector<float> values(10000, std::numeric_limits<float>::max());
  EXPECT_TRUE(std::isfinite(sum_of<TypeParam>(10000, SquareOf<Space>{test::to_device<Space>(values)})));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t place :
         {std::size_t{0}, std::size_t{4095}, std::size_t{4096}, std::size_t{9999}}) {
      std::vector<float> poisoned = values;
      poisoned[place] = bad;
      EXPECT_FALSE(
          std::isfinite(sum_of<TypeParam>(10000, SquareOf<Space>{test::to_device<Space>(poisoned)})));
    }
  }
}

TEST(OrderedSum, DoesNotDependOnTheExecutionSpaceOfTheHost) {
#ifdef KADAM_ENABLE_HOST_TEAMS
  GTEST_SKIP() << "teams add in an order of their own";
#endif
  const std::int64_t n = 123457;
  const auto values = test::to_device<Kokkos::HostSpace>(test::random_vector(n, 3));
  const SquareOf<Kokkos::HostSpace> squares{values};
  EXPECT_EQ(sum_of<Kokkos::Serial>(n, squares), sum_of<Kokkos::DefaultHostExecutionSpace>(n, squares));
}

}  // namespace
}  // namespace kadam
