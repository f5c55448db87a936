// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/lamb_update.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/lamb.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace kadam {
namespace {

TEST(LambReference, HandSized) {
  // First step: u = sign(g), |u| = 2 over 4 elements, |x| = 4, phi = 2.
  reference::Lamb lamb({.lr = 0.5, .tensors = {{0, 4}}}, 4);
  std::vector<float> x = {2.0F, 2.0F, 2.0F, 2.0F};
  lamb.step(x, {{1.0F, -1.0F, 3.0F, 5.0F}});
  EXPECT_NEAR(x[0], 1.0, 1e-5);
  EXPECT_NEAR(x[1], 3.0, 1e-5);
}

TEST(TensorTiles, CoverEveryTensorAndNoTwoAtOnce) {
  constexpr std::int64_t length = TensorTiles<Kokkos::HostSpace>::tile_elements;
  const std::int64_t end = 2 * length + 6;
  const auto tiles = TensorTiles<Kokkos::HostSpace>::make({0, 5, 5, end, end + 1});
  EXPECT_EQ(tiles.tensor_count(), 4);
  EXPECT_EQ(tiles.tile_count(), 1 + 0 + 3 + 1);
  EXPECT_EQ(tiles.first_tile(1), 1);
  EXPECT_EQ(tiles.first_tile(2), 1);
  EXPECT_EQ(tiles.tiles(3).begin, 2 * length + 5);
  EXPECT_EQ(tiles.tiles(3).end, end);
}

template <class Exec>
class LambUpdateTest : public testing::Test {};
TYPED_TEST_SUITE(LambUpdateTest, test::ExecutionSpaces);

TYPED_TEST(LambUpdateTest, IsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  reference::Hyper hyper{.lr = 0.02, .weight_decay = 0.01};
  const std::vector<std::int64_t> ends = {0, 1, 1, 40, 4000, 40000};
  const std::int64_t n = ends.back();
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) hyper.tensors.push_back({ends[k], ends[k + 1]});
  reference::Lamb expected(hyper, n);
  expected.trust_max = 3.0;

  const auto tiles = TensorTiles<Space>::make(ends);
  const LambTensors<Space> tensors{
      test::to_device<Space>(std::vector<float>(5, 1.0F)),
      test::to_device<Space>(std::vector<float>(5, 0.01F)), Kokkos::View<float*, Space>("trust_ratio", 5),
      Kokkos::View<double*, Space>("partial", 2 * static_cast<std::size_t>(tiles.tile_count()))};
  std::vector<float> x = test::random_vector(n, 1);
  const auto x_device = test::to_device<Space>(x);
  const Kokkos::View<float*, Space> m("m", static_cast<std::size_t>(n));
  const Kokkos::View<float*, Space> v("v", static_cast<std::size_t>(n));
  for (std::int64_t t = 1; t <= 3; ++t) {
    const std::vector<float> g = test::random_gradient(n, 0, t);
    expected.step(x, {g});
    const LambStep rule{Ema::make(hyper.beta1),
                        Ema::make(hyper.beta2),
                        1.0F,
                        static_cast<float>(1.0 / hyper.c1(t)),
                        static_cast<float>(1.0 / hyper.c2(t)),
                        static_cast<float>(hyper.eps),
                        static_cast<float>(hyper.lr)};
    const TypeParam exec;
    lamb_moments<TypeParam, Space>(exec, rule, tiles, tensors, x_device, m, v, test::to_device<Space>(g));
    lamb_trust_ratios(exec, tiles, tensors, 0.01, 3.0);
    lamb_apply<TypeParam, Space>(exec, rule, tiles, tensors, x_device, m, v);
    Kokkos::fence();
  }
  const std::vector<float> got = test::to_host(x_device);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], x[i], 1e-5F * (1.0F + std::fabs(x[i]))) << i;
  }
}

/// Tensors of one tile, of none and of many that do not start at element 0, each with factors of its own and
/// with a way of its own through the rule of the trust ratio.
TYPED_TEST(LambUpdateTest, TrustRatiosOfTensorsOfManyTilesAreEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  const std::vector<std::int64_t> ends = {5, 5, 36, 1060, 2085, 7000, 10000, 13000, 16000, 50000};
  const std::vector<float> x_size = {1.0F, 0.3F, 0.3F, 0.3F, 1e3F, 1e-4F, 0.0F, 1.0F, 0.3F};
  const std::vector<float> lambda = {0.0F, 0.1F, 0.0F, 0.1F, 0.0F, 0.1F, 0.1F, 0.0F, 0.2F};
  const std::vector<float> lr_scale = {1.0F, 2.0F, 0.5F, 0.25F, 1.0F, 3.0F, 1.0F, 0.0F, 0.75F};
  const auto n = ends.back() + 3;
  std::vector<float> x = test::random_vector(n, 1);
  std::vector<float> m = test::random_vector(n, 2);
  std::vector<float> v = test::random_variance(n, 3);
  std::vector<float> gradient = test::random_gradient(n, 0, 1);
  for (std::size_t k = 0; k < x_size.size(); ++k) {
    for (auto i = static_cast<std::size_t>(ends[k]); i < static_cast<std::size_t>(ends[k + 1]); ++i) {
      x[i] *= x_size[k];
      if (k == 7) m[i] = gradient[i] = 0.0F;  // no direction at all
    }
  }
  const LambStep rule{Ema::make(0.9), Ema::make(0.999), 0.375F, 2.0F, 3.0F, 1e-3F, 0.01F};
  test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
    const auto tiles = TensorTiles<Space>::make(ends);
    const LambTensors<Space> tensors{
        test::to_device<Space>(lr_scale), test::to_device<Space>(lambda),
        Kokkos::View<float*, Space>("phi", lambda.size()),
        Kokkos::View<double*, Space>("partial", 2 * static_cast<std::size_t>(tiles.tile_count()))};
    const auto x_device = test::to_device<Space>(x);
    const auto m_device = test::to_device<Space>(m);
    const auto v_device = test::to_device<Space>(v);
    const TypeParam exec;
    lamb_moments<TypeParam, Space>(exec, rule, tiles, tensors, x_device, m_device, v_device, numbers);
    lamb_trust_ratios(exec, tiles, tensors, 0.01, 2.0);
    lamb_apply<TypeParam, Space>(exec, rule, tiles, tensors, x_device, m_device, v_device);
    Kokkos::fence();
    const auto phi = test::to_host(tensors.trust_ratio);
    std::vector<float> x_wanted = x;
    std::vector<float> m_wanted = m;
    std::vector<float> v_wanted = v;
    for (std::size_t k = 0; k < lambda.size(); ++k) {
      double x_squared = 0.0;
      double u_squared = 0.0;
      std::vector<float> u;
      for (auto i = static_cast<std::size_t>(ends[k]); i < static_cast<std::size_t>(ends[k + 1]); ++i) {
        const float g = 0.375F * values[i];
        m_wanted[i] = reference::ema(m[i], g, 0.9);
        v_wanted[i] = reference::ema(v[i], g * g, 0.999);
        u.push_back(m_wanted[i] * 2.0F / (std::sqrt(v_wanted[i] * 3.0F) + 1e-3F) + lambda[k] * x[i]);
        x_squared += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        u_squared += static_cast<double>(u.back()) * static_cast<double>(u.back());
      }
      const bool defined = x_squared > 0.0 && u_squared > 0.0;
      const double wanted = defined ? std::sqrt(x_squared / u_squared) : 1.0;
      ASSERT_NEAR(phi[k], std::clamp(wanted, 0.01, 2.0), 1e-6) << "tensor " << k << " " << format;
      // Every way is gone: free, or stopped from above (4), from below (5), or undefined (0, 6, 7).
      ASSERT_EQ(defined, k != 0 && k != 6 && k != 7) << "tensor " << k;
      ASSERT_EQ(wanted > 2.0, k == 4) << "tensor " << k << " " << wanted;
      ASSERT_EQ(wanted < 0.01, k == 5) << "tensor " << k << " " << wanted;
      const float step = 0.01F * lr_scale[k] * phi[k];
      for (std::size_t i = 0; i < u.size(); ++i)
        x_wanted[static_cast<std::size_t>(ends[k]) + i] -= step * u[i];
    }
    test::expect_same_numbers(test::to_host(x_device), x_wanted, format);
    test::expect_same_numbers(test::to_host(m_device), m_wanted, format);
    test::expect_same_numbers(test::to_host(v_device), v_wanted, format);
  });
}

/// u from memory and u computed again are the same numbers, so both ways end with the same bits.
TYPED_TEST(LambUpdateTest, DirectionsInPlaceOfTheGradientGiveTheSameBits) {
  using Space = typename TypeParam::memory_space;
  const std::vector<std::int64_t> ends = {5, 36, 1060, 2085, 20000};
  const std::vector<float> lambda = {0.0F, 0.1F, 0.2F, 0.0F};
  const std::int64_t n = ends.back() + 3;
  const auto tiles = TensorTiles<Space>::make(ends);
  const LambTensors<Space> tensors{
      test::to_device<Space>(std::vector<float>{1.0F, 2.0F, 0.5F, 3.0F}), test::to_device<Space>(lambda),
      Kokkos::View<float*, Space>("phi", lambda.size()),
      Kokkos::View<double*, Space>("partial", 2 * static_cast<std::size_t>(tiles.tile_count()))};
  const LambStep rule{Ema::make(0.9), Ema::make(0.999), 0.375F, 2.0F, 3.0F, 1e-3F, 0.01F};
  const std::vector<float> g = test::random_gradient(n, 0, 1);
  const TypeParam exec;

  struct Result {
    std::vector<float> x, m, v, phi;
  };
  const auto run = [&](const auto& step) -> Result {
    const auto x = test::to_device<Space>(test::random_vector(n, 1));
    const auto m = test::to_device<Space>(test::random_vector(n, 2));
    const auto v = test::to_device<Space>(test::random_variance(n, 3));
    step(x, m, v);
    Kokkos::fence();
    return {test::to_host(x), test::to_host(m), test::to_host(v), test::to_host(tensors.trust_ratio)};
  };
  const Result computed = run([&](const auto& x, const auto& m, const auto& v) {
    lamb_moments<TypeParam, Space>(exec, rule, tiles, tensors, x, m, v, test::to_device<Space>(g));
    lamb_trust_ratios(exec, tiles, tensors, 0.01, 2.0);
    lamb_apply<TypeParam, Space>(exec, rule, tiles, tensors, x, m, v);
  });
  const auto kept = test::to_device<Space>(g);
  const Result stored = run([&](const auto& x, const auto& m, const auto& v) {
    lamb_directions<TypeParam, Space>(exec, rule, tiles, tensors, x, m, v, kept);
    lamb_trust_ratios(exec, tiles, tensors, 0.01, 2.0);
    lamb_apply<TypeParam, Space>(exec, rule, tiles, tensors, x, kept);
  });
  EXPECT_EQ(stored.x, computed.x);
  EXPECT_EQ(stored.m, computed.m);
  EXPECT_EQ(stored.v, computed.v);
  EXPECT_EQ(stored.phi, computed.phi);
  EXPECT_NE(stored.x, test::random_vector(n, 1));
  const std::vector<float> outside = test::to_host(kept);
  for (const auto i : {std::size_t{0}, std::size_t{4}, g.size() - 1}) EXPECT_EQ(outside[i], g[i]) << i;
}

}  // namespace
}  // namespace kadam
