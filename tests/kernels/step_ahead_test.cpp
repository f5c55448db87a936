// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/delayed_mean.hpp>
#include <kadam/kernels/step_ahead.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

/// Parameters and variances that run ahead of what has been delivered.
namespace kadam {
namespace {

template <class Exec>
class StepAheadTest : public testing::Test {};
TYPED_TEST_SUITE(StepAheadTest, test::ExecutionSpaces);

/// share = -1 adds instead: what is owed is delivered.
TYPED_TEST(StepAheadTest, IsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const std::vector<float> x = test::vector_with_nan(n, 1);
    const std::vector<float> first = test::random_vector(n, 2);
    const std::vector<float> second = test::random_vector(n, 3);
    const auto out = test::to_device<Space>(std::vector<float>(x.size(), -7.0F));
    for (const float share : {1.0F, 0.3F, 0.0F, -1.0F}) {
      const std::string where = "n " + std::to_string(n) + " share " + std::to_string(share);
      std::vector<float> of_one = x;
      std::vector<float> of_both = x;
      for (std::size_t i = 0; i < x.size(); ++i) {
        of_one[i] -= share * first[i];
        of_both[i] -= share * (first[i] + second[i]);
      }
      step_ahead<TypeParam, Space>(TypeParam{}, share, test::to_device<Space>(x),
                                   test::to_device<Space>(first), out);
      Kokkos::fence();
      test::expect_same_numbers(test::to_host(out), of_one, where);
      step_ahead<TypeParam, Space>(TypeParam{}, share, test::to_device<Space>(x),
                                   test::to_device<Space>(first), test::to_device<Space>(second), out);
      Kokkos::fence();
      test::expect_same_numbers(test::to_host(out), of_both, where + ", both");
    }
  }
}

/// As deliver_owed() of a reduce-scatter calls it.
TYPED_TEST(StepAheadTest, MayWriteWhereItReads) {
  using Space = typename TypeParam::memory_space;
  const auto x = test::to_device<Space>(std::vector<float>{1.0F, 2.0F, -3.0F});
  step_ahead<TypeParam, Space>(TypeParam{}, -1.0F, x,
                               test::to_device<Space>(std::vector<float>{0.5F, 0.0F, 3.0F}), x);
  Kokkos::fence();
  EXPECT_EQ(test::to_host(x), (std::vector<float>{1.5F, 2.0F, 0.0F}));
}

template <class Exec>
class DelayedMeanTest : public testing::Test {};
TYPED_TEST_SUITE(DelayedMeanTest, test::ExecutionSpaces);

/// A variance that would become negative becomes 0.
TYPED_TEST(DelayedMeanTest, IsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const std::vector<float> mean = test::random_variance(n, 1);
    const std::vector<float> then = test::random_variance(n, 2);
    const std::vector<float> before = test::random_variance(n, 3);
    for (const float kept : {0.0F, 0.7F, 1.0F}) {
      std::vector<float> wanted = before;
      std::int64_t raised = 0;
      std::int64_t stopped = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        const float moved = before[i] + kept * (mean[i] - then[i]);
        wanted[i] = std::max(0.0F, moved);
        raised += moved > before[i] ? 1 : 0;
        stopped += moved < 0.0F ? 1 : 0;
      }
      if (n >= 1000 && kept > 0.0F) {
        EXPECT_GT(raised, n / 10);
        EXPECT_GT(stopped, n / 10);
      }
      const auto v = test::to_device<Space>(before);
      apply_delayed_mean<TypeParam, Space>(TypeParam{}, kept, test::to_device<Space>(mean),
                                           test::to_device<Space>(then), v);
      Kokkos::fence();
      test::expect_same_numbers(test::to_host(v), wanted, "n " + std::to_string(n));
    }
  }
}

TYPED_TEST(DelayedMeanTest, KeepsTheSmallestVariance) {
  using Space = typename TypeParam::memory_space;
  const float least = std::numeric_limits<float>::denorm_min();
  const auto v = test::to_device<Space>(std::vector<float>{least, 0.0F, 3.0F});
  apply_delayed_mean<TypeParam, Space>(TypeParam{}, 1.0F,
                                       test::to_device<Space>(std::vector<float>{1.0F, least, 0.0F}),
                                       test::to_device<Space>(std::vector<float>{1.0F, 0.0F, 3.0F}), v);
  Kokkos::fence();
  test::expect_same_numbers(test::to_host(v), {least, least, 0.0F}, "denormals");
}

}  // namespace
}  // namespace kadam
