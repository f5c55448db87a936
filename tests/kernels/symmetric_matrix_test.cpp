// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/symmetric_matrix.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

/// Sums of symmetric matrices.
namespace kadam {
namespace {

template <class Exec>
class SymmetricMatrixTest : public testing::Test {};
TYPED_TEST_SUITE(SymmetricMatrixTest, test::ExecutionSpaces);

constexpr std::int64_t sides[] = {1, 2, 31, 32, 33, 64, 100, 257};

/// A matrix whose upper triangle, outside the tiles of the diagonal, nobody may read.
std::vector<float> lower_triangle(std::int64_t side, std::uint64_t seed) {
  std::vector<float> values = test::random_vector(side * side, seed);
  for (std::int64_t i = 0; i < side; ++i) {
    for (std::int64_t j = (i / symmetric_tile + 1) * symmetric_tile; j < side; ++j) {
      values[static_cast<std::size_t>(i * side + j)] = std::numeric_limits<float>::quiet_NaN();
    }
  }
  return values;
}

std::vector<float> sum_of(std::int64_t side, const SymmetricSum& of, const std::vector<float>& x,
                          const std::vector<float>& y, const std::vector<float>& z) {
  std::vector<float> sum(z.size());
  for (std::int64_t i = 0; i < side; ++i) {
    for (std::int64_t j = 0; j < side; ++j) {
      const auto k = static_cast<std::size_t>(std::max(i, j) * side + std::min(i, j));
      sum[static_cast<std::size_t>(i * side + j)] =
          of.x * x[k] + of.y * y[k] + of.z * z[k] + (i == j ? of.diagonal : 0.0F);
    }
  }
  return sum;
}

TYPED_TEST(SymmetricMatrixTest, IsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t side : sides) {
    const std::vector<float> x = lower_triangle(side, 1);
    const std::vector<float> y = lower_triangle(side, 2);
    const std::vector<float> z = lower_triangle(side, 3);
    for (const SymmetricSum& of : {SymmetricSum{}, SymmetricSum{11.9F, 0.5F, -2.0F, 3.0F}}) {
      const auto out = test::to_device<Space>(std::vector<float>(x.size(), -7.0F));
      add_symmetric<TypeParam, Space>(TypeParam{}, side, of, test::to_device<Space>(x),
                                      test::to_device<Space>(y), test::to_device<Space>(z), out);
      Kokkos::fence();
      test::expect_same_numbers(test::to_host(out), sum_of(side, of, x, y, z),
                                "side " + std::to_string(side));
    }
  }
}

TYPED_TEST(SymmetricMatrixTest, MayWriteWhereItReads) {
  using Space = typename TypeParam::memory_space;
  const SymmetricSum of{1.0F, 2.0F, 0.25F, -1.0F};
  for (const std::int64_t side : sides) {
    const std::vector<float> values[] = {lower_triangle(side, 1), lower_triangle(side, 2),
                                         lower_triangle(side, 3)};
    const std::vector<float> wanted = sum_of(side, of, values[0], values[1], values[2]);
    for (std::size_t into = 0; into < 3; ++into) {
      const Kokkos::View<float*, Space> views[] = {test::to_device<Space>(values[0]),
                                                   test::to_device<Space>(values[1]),
                                                   test::to_device<Space>(values[2])};
      add_symmetric<TypeParam, Space>(TypeParam{}, side, of, views[0], views[1], views[2], views[into]);
      Kokkos::fence();
      test::expect_same_numbers(test::to_host(views[into]), wanted,
                                "side " + std::to_string(side) + " into " + std::to_string(into));
    }
  }
}

}  // namespace
}  // namespace kadam
