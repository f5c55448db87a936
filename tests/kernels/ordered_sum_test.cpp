// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/ordered_sum.hpp>
#include <kernels/execution_spaces.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>
#include <support/recorded_work.hpp>

#include <cmath>
#include <limits>
#include <string>
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

/// More than one tile to a part on a GPU; the space of one sum serves the next, of any length.
TYPED_TEST(OrderedSumTest, IsEquivalentToReferenceInLongVectors) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = (1 << 25) + 4097;
  const Kokkos::View<float*, Space> ones("ones", static_cast<std::size_t>(n));
  Kokkos::deep_copy(ones, 1.0F);
  const SumSpace<Space> space(n);
  for (const std::int64_t count : {n, std::int64_t{1}, n - 1, std::int64_t{0}, std::int64_t{1} << 24, n})
    EXPECT_EQ(ordered_sum(TypeParam{}, count, MagnitudeOf<Space>{ones}, space), static_cast<double>(count));
}

TYPED_TEST(OrderedSumTest, IsOneKernelAndOneWait) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 100000;
  const Kokkos::View<float*, Space> values("values", static_cast<std::size_t>(n));
  const SumSpace<Space> space(n);
  (void)ordered_sum(TypeParam{}, n, MagnitudeOf<Space>{values}, space);  // Kokkos makes room for its own
  const test::RecordedWork work;
  (void)ordered_sum(TypeParam{}, n, MagnitudeOf<Space>{values}, space);
  EXPECT_EQ(work.launches(), std::vector<std::string>{"kadam::ordered_sum"});
  EXPECT_EQ(work.fences(), std::vector<std::string>{"kadam::ordered_sum"});
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
