// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/adam_update.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/adam.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace kadam {
namespace {

TEST(AdamReference, HandSized) {
  // m = 0.1 g, v = 0.001 g^2; corrected m/c1 = g, v/c2 = g^2: the first step is lr sign(g).
  reference::Adam adam({.lr = 0.5}, 2);
  std::vector<float> x = {1.0F, 1.0F};
  adam.step(x, {{2.0F, -4.0F}});
  EXPECT_NEAR(x[0], 0.5, 1e-6);
  EXPECT_NEAR(x[1], 1.5, 1e-6);
}

template <class Exec>
class AdamUpdateTest : public testing::Test {};
TYPED_TEST_SUITE(AdamUpdateTest, test::ExecutionSpaces);

TYPED_TEST(AdamUpdateTest, IsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  const reference::Hyper hyper{.lr = 0.02, .weight_decay = 0.1};
  for (const std::int64_t n : test::sizes) {
    reference::Adam expected(hyper, n);
    std::vector<float> x = test::random_vector(n, 1);
    const auto x_device = test::to_device<Space>(x);
    const Kokkos::View<float*, Space> m("m", static_cast<std::size_t>(n));
    const Kokkos::View<float*, Space> v("v", static_cast<std::size_t>(n));
    for (std::int64_t t = 1; t <= 3; ++t) {
      const std::vector<float> g = test::random_gradient(n, 0, t);
      expected.step(x, {g});
      AdamStep rule{Ema::make(hyper.beta1), Ema::make(hyper.beta2), 1.0F,
                    AdamApply::make(hyper.lr, hyper.weight_decay, hyper.eps, hyper.c1(t), hyper.c2(t))};
      const Kokkos::View<const float*, Space> gradient = test::to_device<Space>(g);
      adam_update(TypeParam{}, rule, x_device, m, v, gradient);
    }
    const std::vector<float> got = test::to_host(x_device);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], x[i], 2e-6F * (1.0F + std::fabs(x[i]))) << "n " << n << " element " << i;
    }
  }
}

/// x, m, v by plain loops, a segment's factors in double.
struct AdamState {
  std::vector<float> x;
  std::vector<float> m;
  std::vector<float> v;

  void step(const test::HostSegments& segments, const std::vector<float>& gradient) {
    segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
      const auto& [lr_scale, lambda] = segments.factors[static_cast<std::size_t>(segment)];
      const double gamma = 0.02 * lr_scale;
      const float g = 0.375F * gradient[i];
      m[i] = reference::ema(m[i], g, 0.9);
      v[i] = reference::ema(v[i], g * g, 0.999);
      x[i] = static_cast<float>(1.0 - gamma * lambda) * x[i] -
             static_cast<float>(0.02 / 0.19 * lr_scale) * m[i] /
                 (std::sqrt(v[i] * static_cast<float>(1.0 / 0.002)) + 1e-3F);
    });
  }
};

/// Hundreds of segments, gradients of all formats, with and without a copy: to the last bit.
TYPED_TEST(AdamUpdateTest, SegmentsAreEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const auto segments = test::HostSegments::of(n);
    const auto rule = test::by_segment<Space>(
        segments,
        AdamStepOf{Ema::make(0.9), Ema::make(0.999), 0.375F, AdamApplyOf::make(0.02, 1e-3, 0.19, 0.002)});
    const auto gradient = test::random_gradient(n, 0, 1);
    test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
      AdamState wanted{test::vector_with_nan(n, 1), test::random_vector(n, 2), test::random_variance(n, 3)};
      const auto x = test::to_device<Space>(wanted.x);
      const auto m = test::to_device<Space>(wanted.m);
      const auto v = test::to_device<Space>(wanted.v);
      const Kokkos::View<Bfloat16*, Space> copy("copy", static_cast<std::size_t>(n));
      const std::string where = "n " + std::to_string(n) + " " + format;
      for (const bool copies : {false, true}) {
        wanted.step(segments, values);
        adam_update(TypeParam{}, rule, x, m, v, numbers, copies ? HalfCopy<Space>(copy) : HalfCopy<Space>());
        Kokkos::fence();
        test::expect_same_numbers(test::to_host(x), wanted.x, "x, " + where);
        test::expect_same_numbers(test::to_host(m), wanted.m, "m, " + where);
        test::expect_same_numbers(test::to_host(v), wanted.v, "v, " + where);
      }
      const auto copied = test::to_host(copy);
      for (std::size_t i = 0; i < copied.size(); ++i) {
        if (std::isnan(wanted.x[i])) {  // which NaN is up to the processor
          ASSERT_TRUE(std::isnan(to_float(copied[i]))) << where << " element " << i;
        } else {
          ASSERT_EQ(copied[i].bits, round_to<Bfloat16>(wanted.x[i]).bits) << where << " element " << i;
        }
      }
    });
  }
}

/// Moments halve in each step without a gradient; 2^-126 is the smallest that is left.
TYPED_TEST(AdamUpdateTest, MomentsWithoutGradientsBecomeZero) {
  using Space = typename TypeParam::memory_space;
  const std::size_t n = 1000;
  const auto x = test::to_device<Space>(std::vector<float>(n, 1.0F));
  const auto m = test::to_device<Space>(std::vector<float>(n, -1.0F));
  const auto v = test::to_device<Space>(std::vector<float>(n, 1.0F));
  const auto gradient = test::to_device<Space>(std::vector<float>(n, 0.0F));
  const AdamStep rule{Ema::make(0.5), Ema::make(0.5), 1.0F, AdamApply::make(1e-3, 0.0, 1e-8, 1.0, 1.0)};
  const auto step = [&] {
    adam_update(TypeParam{}, rule, x, m, v, gradient);
    Kokkos::fence();
  };
  for (int t = 0; t < 126; ++t) step();
  EXPECT_EQ(test::to_host(m), std::vector<float>(n, -std::numeric_limits<float>::min()));
  EXPECT_EQ(test::to_host(v), std::vector<float>(n, std::numeric_limits<float>::min()));
  step();
  EXPECT_EQ(test::to_host(m), std::vector<float>(n, 0.0F));
  EXPECT_EQ(test::to_host(v), std::vector<float>(n, 0.0F));
}

}  // namespace
}  // namespace kadam
