// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/embeddings.hpp>
#include <workloads/layers/layer_norm.hpp>
#include <workloads/layers/linear.hpp>
#include <workloads/layers/row.hpp>
#include <workloads/matrix.hpp>
#include <workloads/model_fixture.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

// Sums over all rows of a batch: of many more rows, and other numbers of columns, than models have in tests.

namespace kadam::test::row_sums_test {
namespace {

using workloads::matrix_at;

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
};

/// Around the borders of rows and columns that a GPU sums at a time, and beyond the rows that it cuts into as
/// many parts as it takes.
std::vector<Shape> shapes() {
  return {{1, 1}, {63, 33}, {64, 32}, {65, 31}, {128, 1}, {129, 64}, {1000, 70}, {8200, 5}, {10'007, 37}};
}

std::vector<float> values_of(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
  return random_floats(static_cast<std::size_t>(rows * columns), seed, 1.0);
}

workloads::Matrix<const float> matrix_of(const Vector<float>& values, std::int64_t rows,
                                         std::int64_t columns) {
  return matrix_at<const float>(values, 0, rows, columns);
}

/// Runs `write(sums, scratch)` on NaNs, and compares: Σ_rows term(row, x) for each column, whose terms are
/// about 1 in size.
void expect_sums(const Shape& shape, const std::function<double(std::size_t, std::size_t)>& term,
                 const std::function<void(const Vector<float>&, workloads::Scratch&)>& write) {
  const Vector<float> sums("sums", static_cast<std::size_t>(shape.columns));
  Kokkos::deep_copy(sums, std::nanf(""));
  workloads::Scratch scratch;
  write(sums, scratch);
  const std::vector<float> got = to_host(sums);
  const auto rows = static_cast<std::size_t>(shape.rows);
  for (std::size_t x = 0; x < got.size(); ++x) {
    double expected = 0.0;
    for (std::size_t row = 0; row < rows; ++row) {
      expected += term(row, x);
    }
    ASSERT_NEAR(static_cast<double>(got[x]), expected, 2e-5 * std::sqrt(static_cast<double>(rows)))
        << shape.rows << " rows, column " << x << " of " << shape.columns;
  }
}

/// Not in the test itself: nvcc refuses device lambdas in its private function.
void count_visits(std::int64_t rows, const Vector<std::int32_t>& visits) {
  workloads::for_each_row(
      "kadam::test::count_visits", ExecutionSpace(), rows,
      KOKKOS_LAMBDA(const workloads::RowMember& member, const std::int64_t row) {
        Kokkos::single(Kokkos::PerThread(member),
                       [&] { Kokkos::atomic_inc(&visits(static_cast<std::size_t>(row))); });
      });
}

TEST(Rows, AreVisitedOnceEach) {
  for (const std::int64_t rows : {0, 1, 2, 3, 4, 5, 7, 1001}) {
    const Vector<std::int32_t> visits("visits", static_cast<std::size_t>(rows + 8));
    count_visits(rows, visits);
    std::vector<std::int32_t> expected(static_cast<std::size_t>(rows), 1);
    expected.resize(expected.size() + 8, 0);
    EXPECT_EQ(to_host(visits), expected);
  }
}

TEST(RowSums, OfAMatrix) {
  for (const Shape& shape : shapes()) {
    const std::vector<float> values = values_of(shape.rows, shape.columns, 1);
    const Vector<float> device = to_device(values);
    const auto columns = static_cast<std::size_t>(shape.columns);
    expect_sums(
        shape, [&](std::size_t row, std::size_t x) { return static_cast<double>(values[row * columns + x]); },
        [&](const Vector<float>& sums, workloads::Scratch& scratch) {
          workloads::sum_rows(ExecutionSpace(), matrix_of(device, shape.rows, shape.columns), scratch,
                              sums.data());
        });
  }
}

/// Products of up to 100 elements are another kernel on a GPU.
TEST(RowSums, AreProductsOfMatrices) {
  for (const std::int64_t k : {1, 63, 200, 8300}) {
    for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {9, 11}, {2, 32}, {33, 3}, {10, 10}, {25, 7}}) {
      const std::vector<float> a = values_of(k, m, 2);
      const std::vector<float> b = values_of(k, n, 3);
      const Vector<float> left = to_device(a);
      const Vector<float> right = to_device(b);
      expect_sums(
          {k, m * n},
          [&, m = static_cast<std::size_t>(m), n = static_cast<std::size_t>(n)](std::size_t row,
                                                                                std::size_t x) {
            return static_cast<double>(a[row * m + x / n]) * static_cast<double>(b[row * n + x % n]);
          },
          [&, m = m, n = n](const Vector<float>& products, workloads::Scratch& scratch) {
            workloads::multiply_atb(ExecutionSpace(), matrix_of(left, k, m), matrix_of(right, k, n), scratch,
                                    matrix_at(products, 0, m, n));
          });
    }
  }
}

TEST(RowSums, OfALayerNorm) {
  for (const Shape& shape : shapes()) {
    TensorLayoutBuilder builder;
    const workloads::LayerNorm norm(builder, "norm", shape.columns);
    const auto columns = static_cast<std::size_t>(shape.columns);
    const std::vector<float> x = values_of(shape.rows, shape.columns, 4);
    const std::vector<float> dy = values_of(shape.rows, shape.columns, 5);
    const std::vector<float> statistics = values_of(shape.rows, 2, 6);
    const Vector<float> inputs = to_device(x);
    const Vector<float> gradients = to_device(dy);
    const Vector<float> rows = to_device(statistics);
    expect_sums(
        {shape.rows, 2 * shape.columns},
        [&](std::size_t row, std::size_t k) {
          const auto out = static_cast<double>(dy[row * columns + k % columns]);
          const auto in = static_cast<double>(x[row * columns + k % columns]);
          const double normalised =
              (in - static_cast<double>(statistics[2 * row])) * static_cast<double>(statistics[2 * row + 1]);
          return k < columns ? out * normalised : out;
        },
        [&](const Vector<float>& gradient, workloads::Scratch& scratch) {
          norm.backward_parameters(ExecutionSpace(), matrix_of(inputs, shape.rows, shape.columns),
                                   matrix_of(rows, shape.rows, 2),
                                   matrix_of(gradients, shape.rows, shape.columns),
                                   workloads::GradientSink(gradient, nullptr, scratch));
        });
  }
}

/// The rows of a table whose tokens come up in `tokens`.
void expect_token_gradient(const std::vector<std::int32_t>& tokens, std::int64_t vocabulary) {
  constexpr std::int64_t width = 35;
  const auto rows = static_cast<std::int64_t>(tokens.size());
  TensorLayoutBuilder builder;
  const workloads::TokenEmbedding embedding(builder, vocabulary, width);
  workloads::Arena arena;
  workloads::TokenGradientScratch token_scratch;
  const ExecutionSpace exec;
  arena.lay_out(exec, [&](workloads::Arena& from) {
    token_scratch = workloads::TokenGradientScratch(from, rows, vocabulary, width);
  });
  const std::vector<float> dx = values_of(rows, width, 7);
  const Vector<float> gradients = to_device(dx);
  const Vector<std::int32_t> device_tokens = to_device(tokens);
  expect_sums(
      {rows, vocabulary * width},
      [&](std::size_t row, std::size_t k) {
        return tokens[row] == static_cast<std::int32_t>(k / width)
                   ? static_cast<double>(dx[row * width + k % width])
                   : 0.0;
      },
      [&](const Vector<float>& gradient, workloads::Scratch& scratch) {
        embedding.backward(exec, device_tokens, matrix_of(gradients, rows, width), token_scratch,
                           workloads::GradientSink(gradient, nullptr, scratch));
      });
}

TEST(TokenEmbedding, GradientsOfAllSharesOfTokens) {
  for (const std::size_t rows : {1U, 63U, 64U, 65U, 128U, 500U, 9001U}) {
    const std::vector<int> random = random_integers(rows, 8, 7);
    std::vector<std::int32_t> tokens(random.begin(), random.end());
    expect_token_gradient(tokens, 9);  // two do not come up
    for (std::size_t row = 0; row < rows; ++row) {
      tokens[row] = row % 5 == 1 ? tokens[row] : 3;  // one is most of them
    }
    expect_token_gradient(tokens, 7);
    std::fill(tokens.begin(), tokens.end(), 0);
    expect_token_gradient(tokens, 1);
  }
}

}  // namespace
}  // namespace kadam::test::row_sums_test
