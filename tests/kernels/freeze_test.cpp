// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/freeze.hpp>
#include <kernels/execution_spaces.hpp>
#include <support/host_views.hpp>
#include <support/recorded_work.hpp>

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
  EXPECT_LE(work.fences().size(), 1U);
}

TYPED_TEST(FreezeTest, RaisesSmallVariancesOfABlockButNotThoseThatAreZero) {
  using Space = typename TypeParam::memory_space;
  const auto v = test::to_device<Space>(std::vector<float>{1.0F, 1e-6F, 0.0F, 1e-6F, 1e-6F});
  // Blocks of three elements: only the first has an element that its neighbours' floor raises.
  BlockMap map;
  map.elements = 5;
  map.chunk_elements = 64;
  map.block_elements = 3;
  map.blocks_per_chunk = 22;
  map.blocks = 2;
  raise_variance(TypeParam{}, map, 0.1, v);
  const auto got = test::to_host(v);
  EXPECT_NEAR(got[1], 0.005F, 1e-8F);
  EXPECT_EQ(got[0], 1.0F);
  EXPECT_EQ(got[2], 0.0F);
  EXPECT_EQ(got[3], 1e-6F);
  EXPECT_EQ(got[4], 1e-6F);
}

}  // namespace
}  // namespace kadam
