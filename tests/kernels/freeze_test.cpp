// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/freeze.hpp>
#include <kadam/kernels/largest_step.hpp>
#include <kernels/execution_spaces.hpp>
#include <support/host_views.hpp>
#include <support/recorded_work.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace kadam {
namespace {

template <class Exec>
class FreezeTest : public testing::Test {};
TYPED_TEST_SUITE(FreezeTest, test::ExecutionSpaces);

TYPED_TEST(FreezeTest, FoldsTheCorrectionsAndSilencesCoordinatesWithoutVariance) {
  using Space = typename TypeParam::memory_space;
  const auto m = test::to_device<Space>(std::vector<float>{1.0F, 2.0F, -3.0F});
  const auto v = test::to_device<Space>(std::vector<float>{4.0F, 0.0F, 8.0F});
  fold_corrections(TypeParam{}, 2.0F, 0.5F, m, v);
  EXPECT_EQ(test::to_host(m), (std::vector<float>{2.0F, 0.0F, -6.0F}));
  EXPECT_EQ(test::to_host(v), (std::vector<float>{2.0F, 0.0F, 4.0F}));
  EXPECT_EQ(count_zeros(TypeParam{}, v), 1);
}

TYPED_TEST(FreezeTest, CountsZerosInOneKernel) {
  using Space = typename TypeParam::memory_space;
  const Kokkos::View<float*, Space> v("v", 100000);
  (void)count_zeros(TypeParam{}, v);  // Kokkos makes room for its own first
  const test::RecordedWork work;
  EXPECT_EQ(count_zeros(TypeParam{}, v), 100000);
  EXPECT_EQ(work.launches(), std::vector<std::string>{"kadam::count_zeros"});
  // A GPU's result is waited for, and then its copy.
  EXPECT_LE(work.fences().size(), detail::runs_on_host<TypeParam> ? 1U : 2U);
}

TYPED_TEST(FreezeTest, RaisesSmallVariancesOfABlockButNotThoseThatAreZero) {
  using Space = typename TypeParam::memory_space;
  const auto v = test::to_device<Space>(std::vector<float>{1.0F, 1e-6F, 0.0F, 1e-6F, 1e-6F});
  const Kokkos::View<float*, Space> m("m", 5);
  // Blocks of three elements: only the first has an element that its neighbours' floor raises.
  BlockMap map;
  map.elements = 5;
  map.chunk_elements = 64;
  map.block_elements = 3;
  map.blocks_per_chunk = 22;
  map.blocks = 2;
  raise_variance(TypeParam{}, map, {0.1, 1e-8}, m, v);
  const auto got = test::to_host(v);
  EXPECT_NEAR(got[1], 0.005F, 1e-8F);
  EXPECT_EQ(got[0], 1.0F);
  EXPECT_EQ(got[2], 0.0F);
  EXPECT_EQ(got[3], 1e-6F);
  EXPECT_EQ(got[4], 1e-6F);
}

/// Of a block of 6 with R = 0.41: 1e-20 is below eps = 1e-8 and R/1000; 1e-13 is raised, though it is below
/// another eps, as is 1e-14 where eps is smaller.
TYPED_TEST(FreezeTest, LeavesOutVariancesThatAreNoise) {
  using Space = typename TypeParam::memory_space;
  const std::vector<float> before = {1.0F, 1e-20F, 1e-13F, 0.0F, 1e-3F, 1e-6F, 1e-4F};
  BlockMap map;
  map.elements = 7;
  map.chunk_elements = 64;
  map.block_elements = 64;
  map.blocks_per_chunk = 1;
  map.blocks = 1;
  const double mean = (1.0 + 1e-3 + 1e-6 + 1e-4) / 6.0;
  const auto least = static_cast<float>(0.01 * mean);
  const auto raised = [&](const VarianceFloor& floor) {
    const auto m = test::to_device<Space>(std::vector<float>(before.size(), 2.0F));
    const auto v = test::to_device<Space>(before);
    raise_variance(TypeParam{}, map, floor, m, v);
    const auto after = test::to_host(v);
    const auto momentum = test::to_host(m);
    for (std::size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(momentum[i], before[i] > 0.0F && after[i] == 0.0F ? 0.0F : 2.0F) << i;
    }
    return after;
  };
  const auto expect = [&](const VarianceFloor& floor, const std::vector<float>& wanted) {
    const auto got = raised(floor);
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(got[i], wanted[i], 1e-6F * wanted[i]) << i;
  };
  expect({0.1, 1e-8}, {1.0F, 0.0F, least, 0.0F, least, least, least});
  expect({0.1, 1e-11}, {1.0F, least, least, 0.0F, least, least, least});
  // However large eps is: what is above R/1000 = 4.1e-4 has a gradient.
  expect({0.1, 1.0}, {1.0F, 0.0F, 0.0F, 0.0F, least, least, least});
  EXPECT_EQ(raised({0.0, 1e-8}), before);
}

TYPED_TEST(FreezeTest, FindsTheLargestStep) {
  using Space = typename TypeParam::memory_space;
  using Constant = Kokkos::View<const float*, Space>;
  const auto of = [](std::vector<float> m, std::vector<float> v, float inverse_c2 = 1.0F, float eps = 0.0F) {
    return largest_step(TypeParam{}, inverse_c2, eps, Constant(test::to_device<Space>(m)),
                        Constant(test::to_device<Space>(v)));
  };
  const LargestValue plain = of({1.0F, -2.0F, 9.0F}, {1.0F, 1e-6F, 0.0F});
  EXPECT_NEAR(plain.value, 2000.0F, 1e-2F);
  EXPECT_EQ(plain.index, 1);
  EXPECT_NEAR(of({3.0F}, {1.0F}, 4.0F, 1.0F).value, 1.0F, 1e-6F);
  EXPECT_EQ(of({}, {}).index, -1);
  EXPECT_EQ(of({0.0F, 0.0F}, {0.0F, 0.0F}).index, 0);
  // The first of equal ones, and what is no number is the largest.
  std::vector<float> many(100000, 1.0F);
  EXPECT_EQ(of(many, many).index, 0);
  many[54321] = std::nanf("");
  const LargestValue no_number = of(many, std::vector<float>(100000, 1.0F));
  EXPECT_EQ(no_number.index, 54321);
  EXPECT_TRUE(std::isinf(no_number.value));
}

}  // namespace
}  // namespace kadam
