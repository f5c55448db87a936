// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/adam_update.hpp>
#include <kernels/execution_spaces.hpp>
#include <reference/adam.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <cmath>
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
      // In two parts: elements outside of [begin, end) stay as they are.
      adam_update(TypeParam{}, rule, 0, n / 3, x_device, m, v, gradient);
      adam_update(TypeParam{}, rule, n / 3, n, x_device, m, v, gradient);
    }
    const std::vector<float> got = test::to_host(x_device);
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], x[i], 2e-6F * (1.0F + std::fabs(x[i]))) << "n " << n << " element " << i;
    }
  }
}

}  // namespace
}  // namespace kadam
