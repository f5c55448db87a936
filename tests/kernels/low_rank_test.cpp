// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/low_rank.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/low_rank_mean.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kadam {
namespace {

/// Shapes with one part and several, one tile and several, sides that no tile divides, and more columns than
/// a thread holds; with numbers between them that nobody may touch.
std::vector<LowRankMatrix> some_matrices(std::int64_t rank) {
  const std::vector<std::pair<std::int64_t, std::int64_t>> shapes = {{2, 2},     {300, 7}, {5, 8192 + 33},
                                                                     {129, 257}, {16, 16}, {3, 8192}};
  std::vector<LowRankMatrix> matrices;
  std::int64_t begin = 3;
  for (const auto& [rows, columns] : shapes) {
    LowRankMatrix matrix;
    matrix.begin = begin;
    matrix.rows = rows;
    matrix.columns = columns;
    matrix.rank = std::min({rank, rows, columns});
    matrix.tensor = static_cast<std::int64_t>(matrices.size()) * 2;
    matrix.q = matrices.empty() ? 5 : matrices.back().q + matrices.back().rank * matrices.back().columns + 2;
    matrices.push_back(matrix);
    begin += rows * columns + 5;
  }
  return matrices;
}

template <class Exec>
class LowRankTest : public testing::Test {
 public:
  using Memory = typename Exec::memory_space;
  using Doubles = Kokkos::View<double*, Memory>;

  void choose(std::int64_t rank) {
    host_ = some_matrices(rank);
    const LowRankExtents extents = place_factors(host_);
    matrices_ = LowRankMatrices<Memory>::make(host_, extents);
    elements_ = host_.back().begin + host_.back().rows * host_.back().columns + 5;
    error_ = test::random_vector(elements_, 11);
    left_ = test::random_vector(extents.left, 12);
    right_ = test::random_vector(extents.right, 13);
    taken_ = test::random_vector(extents.right, 14);
    q_ = test::random_vector(host_.back().q + host_.back().rank * host_.back().columns, 15);
  }
  /// M of element i.
  [[nodiscard]] double m(const std::vector<float>& gradient, std::int64_t i) const {
    const auto k = static_cast<std::size_t>(i);
    return 0.375 * static_cast<double>(gradient[k]) + static_cast<double>(error_[k]);
  }
  static double at(const std::vector<float>& values, std::int64_t i) {
    return static_cast<double>(values[static_cast<std::size_t>(i)]);
  }
  /// Sum of the parts of each element.
  static double sum_of(const std::vector<double>& sums, std::int64_t first, std::int64_t stride,
                       std::int64_t parts) {
    double sum = 0.0;
    for (std::int64_t s = 0; s < parts; ++s) sum += sums[static_cast<std::size_t>(first + s * stride)];
    return sum;
  }

  std::vector<LowRankMatrix> host_;
  LowRankMatrices<Memory> matrices_;
  std::int64_t elements_ = 0;
  std::vector<float> error_;
  std::vector<float> left_;
  std::vector<float> right_;
  std::vector<float> taken_;
  std::vector<float> q_;
};
TYPED_TEST_SUITE(LowRankTest, test::ExecutionSpaces);

constexpr std::int64_t ranks_to_try[] = {1, 2, 3, 5, 11};

TYPED_TEST(LowRankTest, MultipliesByTheRightFactor) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t rank : ranks_to_try) {
    this->choose(rank);
    const auto values = test::random_vector(this->elements_, 10);
    test::for_each_format<Space>(values, [&](const auto& gradient, const auto& g, const std::string& name) {
      SCOPED_TRACE(name + " rank " + std::to_string(rank));
      const typename TestFixture::Doubles sums("sums",
                                               static_cast<std::size_t>(this->matrices_.extents.left_sums));
      const LowRankInput<Space> input{gradient, 0.375F, test::to_device<Space>(this->error_)};
      multiply_by_right<TypeParam, Space>(TypeParam{}, this->matrices_, input,
                                          test::to_device<Space>(this->q_), sums);
      Kokkos::fence();
      const auto got = test::to_host(sums);
      for (const LowRankMatrix& a : this->host_) {
        for (std::int64_t c = 0; c < a.rank; ++c) {
          for (std::int64_t i = 0; i < a.rows; ++i) {
            double wanted = 0.0;
            for (std::int64_t j = 0; j < a.columns; ++j)
              wanted += this->m(g, a.begin + i * a.columns + j) * this->at(this->q_, a.q + c * a.columns + j);
            ASSERT_NEAR(this->sum_of(got, a.left_sums + c * a.rows + i, a.rank * a.rows, a.left_parts()),
                        wanted, 1e-11 * static_cast<double>(a.columns))
                << a.rows << " x " << a.columns << " row " << i << " column " << c;
          }
        }
      }
    });
  }
}

TYPED_TEST(LowRankTest, MultipliesByTheLeftFactor) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t rank : ranks_to_try) {
    this->choose(rank);
    const auto values = test::random_vector(this->elements_, 10);
    test::for_each_format<Space>(values, [&](const auto& gradient, const auto& g, const std::string& name) {
      SCOPED_TRACE(name + " rank " + std::to_string(rank));
      const typename TestFixture::Doubles sums("sums",
                                               static_cast<std::size_t>(this->matrices_.extents.right_sums));
      const LowRankInput<Space> input{gradient, 0.375F, test::to_device<Space>(this->error_)};
      multiply_by_left<TypeParam, Space>(TypeParam{}, this->matrices_, input,
                                         test::to_device<Space>(this->left_), sums);
      Kokkos::fence();
      const auto got = test::to_host(sums);
      for (const LowRankMatrix& a : this->host_) {
        for (std::int64_t c = 0; c < a.rank; ++c) {
          for (std::int64_t j = 0; j < a.columns; ++j) {
            double wanted = 0.0;
            for (std::int64_t i = 0; i < a.rows; ++i)
              wanted +=
                  this->m(g, a.begin + i * a.columns + j) * this->at(this->left_, a.left + c * a.rows + i);
            ASSERT_NEAR(
                this->sum_of(got, a.right_sums + c * a.columns + j, a.rank * a.columns, a.right_parts()),
                wanted, 1e-11 * static_cast<double>(a.rows))
                << a.rows << " x " << a.columns << " column " << j << " of factor column " << c;
          }
        }
      }
    });
  }
}

TYPED_TEST(LowRankTest, SubtractsWhatIsTaken) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t rank : ranks_to_try) {
    this->choose(rank);
    const auto values = test::random_vector(this->elements_, 10);
    test::for_each_format<Space>(values, [&](const auto& gradient, const auto& g, const std::string& name) {
      const std::string where = name + " rank " + std::to_string(rank);
      const LowRankInput<Space> input{gradient, 0.375F, test::to_device<Space>(this->error_)};
      const auto mean =
          test::to_device<Space>(std::vector<float>(static_cast<std::size_t>(this->elements_), -7.0F));
      subtract_low_rank<TypeParam, Space>(
          TypeParam{}, this->matrices_, input,
          {test::to_device<Space>(this->left_), test::to_device<Space>(this->right_),
           test::to_device<Space>(this->taken_)},
          mean);
      Kokkos::fence();
      std::vector<float> wanted_mean(static_cast<std::size_t>(this->elements_), -7.0F);
      std::vector<float> wanted_error = this->error_;
      for (const LowRankMatrix& a : this->host_) {
        for (std::int64_t i = 0; i < a.rows; ++i) {
          for (std::int64_t j = 0; j < a.columns; ++j) {
            double given = 0.0;
            double taken = 0.0;
            for (std::int64_t c = 0; c < a.rank; ++c) {
              const double left = this->at(this->left_, a.left + c * a.rows + i);
              given += left * this->at(this->right_, a.right + c * a.columns + j);
              taken += left * this->at(this->taken_, a.right + c * a.columns + j);
            }
            const std::int64_t element = a.begin + i * a.columns + j;
            wanted_mean[static_cast<std::size_t>(element)] = static_cast<float>(given);
            wanted_error[static_cast<std::size_t>(element)] = static_cast<float>(this->m(g, element) - taken);
          }
        }
      }
      test::expect_same_numbers(test::to_host(mean), wanted_mean, "mean, " + where);
      test::expect_same_numbers(test::to_host(input.error), wanted_error, "error, " + where);
    });
  }
}

TYPED_TEST(LowRankTest, OrthonormalisesColumns) {
  using Space = typename TypeParam::memory_space;
  this->choose(5);
  std::vector<float> p = this->left_;
  const LowRankMatrix& a = this->host_[3];
  const auto column = [&](std::int64_t c) { return p.begin() + a.left + c * a.rows; };
  std::copy(column(0), column(1), column(1));  // keeps nothing
  std::fill(column(2), column(3), 0.0F);
  std::copy(column(0), column(1), column(3));  // keeps more than a millionth, in one element
  *column(3) += 1e-3F;
  const auto got_p = test::to_device<Space>(p);
  const typename TestFixture::Doubles work("work", p.size());
  orthonormalise(TypeParam{}, this->matrices_, got_p, work);
  Kokkos::fence();
  const auto got = test::to_host(got_p);
  for (const LowRankMatrix& matrix : this->host_) {
    reference::Factor columns;
    for (std::int64_t c = 0; c < matrix.rank; ++c) {
      const auto first = p.begin() + matrix.left + c * matrix.rows;
      columns.emplace_back(first, first + matrix.rows);
    }
    const reference::Column wanted = reference::FactorMean::joined(reference::orthonormal(columns));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_NEAR(got[static_cast<std::size_t>(matrix.left) + i], wanted[i], 1e-6F)
          << matrix.rows << " x " << matrix.columns << " element " << i;
    }
  }
  EXPECT_EQ(got[static_cast<std::size_t>(a.left + a.rows)], 0.0F);
  EXPECT_NEAR(std::fabs(got[static_cast<std::size_t>(a.left + 3 * a.rows)]), 1.0F, 0.1F);
}

/// The numbers between those of the matrices stay; so do columns that are not zero.
TYPED_TEST(LowRankTest, SeedsZeroColumnsAlone) {
  using Space = typename TypeParam::memory_space;
  this->choose(3);
  std::vector<float> r = this->right_;
  std::vector<float> q = this->q_;
  std::vector<float> of_r = this->q_;
  std::vector<float> of_q = this->q_;
  for (const LowRankMatrix& a : this->host_) {
    std::copy_n(r.begin() + a.right, a.rank * a.columns, of_r.begin() + a.q);
    const std::int64_t zero = (a.rank - 1) * a.columns;
    std::fill_n(r.begin() + a.right + zero, a.columns, 0.0F);
    std::fill_n(q.begin() + a.q + zero, a.columns, 0.0F);
    const reference::Column seeds = reference::seed_column(9, a.tensor, a.columns, a.rank, a.rank - 1);
    std::copy(seeds.begin(), seeds.end(), of_r.begin() + a.q + zero);
    std::copy(seeds.begin(), seeds.end(), of_q.begin() + a.q + zero);
  }
  const auto in_place = test::to_device<Space>(q);
  seed_zero_columns(TypeParam{}, this->matrices_, 9, in_place);
  const auto taken = test::to_device<Space>(this->q_);
  take_columns<TypeParam, Space>(TypeParam{}, this->matrices_, 9, test::to_device<Space>(r), taken);
  Kokkos::fence();
  test::expect_same_numbers(test::to_host(in_place), of_q, "Q");
  test::expect_same_numbers(test::to_host(taken), of_r, "Q of R");
}

TEST(SeedNumber, IsThatOfTheSpecification) {
  EXPECT_FLOAT_EQ(seed_number(1, 0, 0), 0.13312304F);
  EXPECT_FLOAT_EQ(seed_number(1, 0, 1), 0.18237936F);
  EXPECT_FLOAT_EQ(seed_number(1, 0, 2), -0.7730994F);
  EXPECT_EQ(seed_number(5, 3, 7), reference::seed_entry(5, 3, 7));
}

}  // namespace
}  // namespace kadam
