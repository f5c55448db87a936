// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/local_step.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/formulas.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace kadam {
namespace {

constexpr LocalStepOf local_rule{{0.9F, static_cast<float>(1.0 - 0.9)}, 0.375F, 0.02, 0.7, 3.0F, 1e-3F};

TEST(LocalStep, HandSized) {
  LocalStep rule;
  rule.decay = 0.5F;
  rule.inverse_c2 = 4.0F;
  rule.eps = 0.5F;
  EXPECT_EQ(rule.working(8.0F, 3.0F, 0.25F), 4.0F - 3.0F / 1.5F);
  EXPECT_EQ(rule.working(8.0F, 3.0F, 0.0F), 4.0F) << "no variance, no step";
}

template <class Exec>
class LocalStepTest : public testing::Test {};
TYPED_TEST_SUITE(LocalStepTest, test::ExecutionSpaces);

TYPED_TEST(LocalStepTest, MomentumIsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const auto segments = test::HostSegments::of(n);
    const auto rule = test::by_segment<Space>(segments, local_rule);
    const auto gradient = test::random_gradient(n, 0, 1);
    test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
      std::vector<float> m = test::vector_with_nan(n, 1);
      std::vector<float> u = test::random_vector(n, 2);
      const auto m_device = test::to_device<Space>(m);
      const auto u_device = test::to_device<Space>(u);
      segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
        const double lr_scale = segments.factors[static_cast<std::size_t>(segment)].lr_scale;
        m[i] = reference::ema(m[i], 0.375F * values[i], 0.9);
        u[i] += static_cast<float>(0.02 * lr_scale) * m[i];
      });
      accumulate_local_momentum(TypeParam{}, rule, m_device, u_device, numbers);
      Kokkos::fence();
      const std::string where = "n " + std::to_string(n) + " " + format;
      test::expect_same_numbers(test::to_host(m_device), m, "m, " + where);
      test::expect_same_numbers(test::to_host(u_device), u, "u, " + where);
    });
  }
}

/// A coordinate with v = 0 takes no step, one with a denormal v does; one whose v is not a number takes none.
TYPED_TEST(LocalStepTest, WorkingParametersAreEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const auto segments = test::HostSegments::of(n);
    const std::vector<float> x = test::random_vector(n, 3);
    const std::vector<float> u = test::random_vector(n, 4);
    std::vector<float> v = test::vector_with_nan(n, 5);
    for (float& value : v) value = std::fabs(value);
    std::vector<float> wanted(x.size(), -7.0F);
    segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
      const auto& [lr_scale, lambda] = segments.factors[static_cast<std::size_t>(segment)];
      wanted[i] = static_cast<float>(1.0 - lambda * 0.7 * lr_scale) * x[i];
      if (v[i] > 0.0F) wanted[i] -= u[i] / (std::sqrt(v[i] * 3.0F) + 1e-3F);
    });
    const auto out = test::to_device<Space>(std::vector<float>(x.size(), -7.0F));
    write_working_parameters<TypeParam, Space>(TypeParam{}, test::by_segment<Space>(segments, local_rule),
                                               test::to_device<Space>(x), test::to_device<Space>(u),
                                               test::to_device<Space>(v), out);
    Kokkos::fence();
    test::expect_same_numbers(test::to_host(out), wanted, "n " + std::to_string(n));
  }
}

}  // namespace
}  // namespace kadam
