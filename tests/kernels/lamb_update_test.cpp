// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/lamb_update.hpp>

#include <cmath>
#include <kernels/execution_spaces.hpp>
#include <reference/optimizers.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>
#include <utility>
#include <vector>

namespace kadam {
namespace {

TEST(LambReference, HandSized) {
  // First step: u = sign(g), |u| = 2 over 4 elements, |x| = 4, phi = 2.
  reference::Lamb lamb({.lr = 0.5}, {{0, 4}}, 4);
  std::vector<float> x = {2.0F, 2.0F, 2.0F, 2.0F};
  lamb.step(x, {{1.0F, -1.0F, 3.0F, 5.0F}});
  EXPECT_NEAR(x[0], 1.0, 1e-5);
  EXPECT_NEAR(x[1], 3.0, 1e-5);
}

TEST(TensorTiles, CoverEveryTensorAndNoTwoAtOnce) {
  const auto tiles = TensorTiles<Kokkos::HostSpace>::make({0, 5, 5, 2500, 2501});
  EXPECT_EQ(tiles.tensor_count(), 4);
  EXPECT_EQ(tiles.tile_count(), 1 + 0 + 3 + 1);
  EXPECT_EQ(tiles.first_tile(1), 1);
  EXPECT_EQ(tiles.first_tile(2), 1);
  EXPECT_EQ(tiles.tiles(3).end, 2500);
}

template <class Exec>
class LambUpdateTest : public testing::Test {};
TYPED_TEST_SUITE(LambUpdateTest, test::ExecutionSpaces);

TYPED_TEST(LambUpdateTest, IsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  const reference::Hyper hyper{.lr = 0.02, .weight_decay = 0.01};
  const std::vector<std::int64_t> ends = {0, 1, 1, 40, 4000, 40000};
  const std::int64_t n = ends.back();
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::size_t k = 0; k + 1 < ends.size(); ++k) ranges.emplace_back(ends[k], ends[k + 1]);
  reference::Lamb expected(hyper, ranges, n);
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

}  // namespace
}  // namespace kadam
