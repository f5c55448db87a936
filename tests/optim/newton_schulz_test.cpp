// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/newton_schulz.hpp>
#include <reference/muon.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

/// The iteration on Gram matrices against the one on X itself, in double, as published.
namespace kadam::newton_schulz_test {
namespace {

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
};
/// Of one panel and of several, whole ones or not; squares, tall and wide.
constexpr Shape shapes[] = {{2, 2},     {3, 40},    {32, 32},  {33, 70},
                            {100, 100}, {260, 131}, {64, 300}, {290, 290}};

enum class Kind : std::uint8_t { noise, ill_conditioned, of_rank_one, one_large_value, zero };

reference::Rows noise(const Shape& shape, std::uint64_t seed) {
  const std::vector<float> values = test::random_vector(shape.rows * shape.columns, seed);
  reference::Rows rows(static_cast<std::size_t>(shape.rows));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(i) * shape.columns;
    rows[i].assign(begin, begin + shape.columns);
    for (double& value : rows[i]) value = std::fabs(value) < 1e-3 ? 0.5 : value;
  }
  return rows;
}

/// left diag(values) right, with matrices that are far from orthogonal but full.
reference::Rows matrix(const Shape& shape, Kind kind) {
  reference::Rows full = noise(shape, 1);
  const std::int64_t rank = std::min(shape.rows, shape.columns);
  if (kind == Kind::noise) return full;
  if (kind == Kind::zero) {
    for (auto& row : full) std::fill(row.begin(), row.end(), 0.0);
    return full;
  }
  reference::Rows left = noise({shape.rows, rank}, 2);
  const reference::Rows right = noise({rank, shape.columns}, 3);
  for (auto& row : left) {
    for (std::int64_t k = 0; k < rank; ++k) {
      const double part = rank > 1 ? static_cast<double>(k) / static_cast<double>(rank - 1) : 0.0;
      double value = std::pow(10.0, -5.0 * part);
      if (kind == Kind::of_rank_one) value = k == 0 ? 1.0 : 0.0;
      if (kind == Kind::one_large_value) value = k == 0 ? 1000.0 : 1.0;
      row[static_cast<std::size_t>(k)] *= value;
    }
  }
  return reference::product(left, right);
}

class NewtonSchulzTest : public testing::TestWithParam<Kind> {};

TEST_P(NewtonSchulzTest, IsThePublishedIteration) {
  const ExecutionSpace exec;
  for (const Shape& shape : shapes) {
    const std::string where = std::to_string(shape.rows) + " x " + std::to_string(shape.columns);
    const MatrixPlace place{5, shape.rows, shape.columns};
    const reference::Rows rows = matrix(shape, GetParam());
    std::vector<float> gradient(static_cast<std::size_t>(place.begin + place.elements()), -3.0F);
    std::size_t next = static_cast<std::size_t>(place.begin);
    reference::Rows rounded = rows;
    for (auto& row : rounded) {
      for (double& value : row) {
        gradient[next] = static_cast<float>(value);
        value = static_cast<double>(gradient[next++]);
      }
    }
    const reference::Rows wanted = reference::orthogonalised(rounded);

    NewtonSchulz newton_schulz(exec, {{0, 7, 9}, place});
    const auto m = test::to_device<MemorySpace>(std::vector<float>(gradient.size(), 0.0F));
    const auto g = test::to_device<MemorySpace>(gradient);
    const Vector<const float> direction = newton_schulz.direction(
        exec, place, Ema::make(0.9), 1.0F, Numbers<MemorySpace>(Vector<const float>(g)), m);
    exec.fence("newton_schulz_test");
    const std::vector<float> got = test::to_host(direction);

    double largest = 0.0;
    double error = 0.0;
    for (std::int64_t i = 0; i < shape.rows; ++i) {
      for (std::int64_t j = 0; j < shape.columns; ++j) {
        const double value = wanted[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
        largest = std::max(largest, std::fabs(value));
        error = std::max(
            error,
            std::fabs(value - static_cast<double>(got[static_cast<std::size_t>(i * shape.columns + j)])));
      }
    }
    EXPECT_LE(error, 1e-3 * largest) << where;
    RecordProperty("error of " + where, std::to_string(largest > 0.0 ? error / largest : 0.0));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, NewtonSchulzTest,
                         testing::Values(Kind::noise, Kind::ill_conditioned, Kind::of_rank_one,
                                         Kind::one_large_value, Kind::zero));

/// Half of a symmetric product and no more, but for the tiles of the diagonal.
TEST(NewtonSchulzWork, CountsItsMultiplications) {
  // One panel of 32: X twice to A and once to X, nine and five products of 32 x 32.
  const double one_panel =
      2.0 * (32.0 * 32.0 * 64.0) + 2.0 * (64.0 * 32.0 * 32.0) + 14.0 * 32.0 * 32.0 * 32.0;
  EXPECT_EQ(NewtonSchulz::multiplications({{0, 64, 32}}), one_panel);
  if (!kernels_run_on_host) return;
  // Eight panels of 32: 9/16 of each symmetric product.
  const double cube = 256.0 * 256.0 * 256.0;
  EXPECT_EQ(NewtonSchulz::multiplications({{0, 256, 256}}), (16.0 * 9.0 / 16.0 + 2.0) * cube);
}

}  // namespace
}  // namespace kadam::newton_schulz_test
