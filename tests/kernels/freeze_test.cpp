// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/freeze.hpp>

#include <kernels/execution_spaces.hpp>
#include <support/host_views.hpp>
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

}  // namespace
}  // namespace kadam
