// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/matrix_product.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// Products of matrices that are parts of larger ones.
namespace kadam {
namespace {

template <class Exec>
class MatrixProductTest : public testing::Test {};
TYPED_TEST_SUITE(MatrixProductTest, test::ExecutionSpaces);

struct Extents {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t terms;
};
constexpr Extents cases[] = {{1, 1, 1}, {1, 3, 700}, {4, 16, 64}, {5, 17, 65}, {33, 31, 130}, {64, 48, 200}};

/// A matrix inside a larger one, whose other elements nobody may touch.
template <class Space>
struct Part {
  static constexpr std::int64_t margin = 3;
  std::int64_t rows;
  std::int64_t columns;
  std::vector<float> host;
  Kokkos::View<float*, Space> device;

  Part(std::int64_t r, std::int64_t c, std::uint64_t seed)
      : rows(r),
        columns(c),
        host(test::random_vector(width() * (r + 2 * margin), seed)),
        device(test::to_device<Space>(host)) {}

  [[nodiscard]] std::int64_t width() const { return columns + 2 * margin; }
  [[nodiscard]] std::size_t place(std::int64_t i, std::int64_t j) const {
    return static_cast<std::size_t>((i + margin) * width() + j + margin);
  }
  [[nodiscard]] float at(std::int64_t i, std::int64_t j) const { return host[place(i, j)]; }
  [[nodiscard]] RowMajor<float, Space> view() const {
    const RowMajor<float, Space> whole(device.data(), static_cast<std::size_t>(rows + 2 * margin),
                                       static_cast<std::size_t>(width()));
    return Kokkos::subview(whole, std::pair<std::int64_t, std::int64_t>(margin, margin + rows),
                           std::pair<std::int64_t, std::int64_t>(margin, margin + columns));
  }
};

/// Each element is one sum in the order of its terms: a host's bits are known.
template <class Exec, class Space, class Multiply, class Left, class Right>
void expect_product(const Extents& of, const Multiply& multiply, const Left& left, const Right& right,
                    const std::string& where) {
  Part<Space> c(of.rows, of.columns, 3);
  multiply(c.view());
  Kokkos::fence();
  const std::vector<float> got = test::to_host(c.device);
  for (std::int64_t i = 0; i < of.rows; ++i) {
    for (std::int64_t j = 0; j < of.columns; ++j) {
      float sum = 0.0F;
      double size = 0.0;
      for (std::int64_t t = 0; t < of.terms; ++t) {
        sum += left(i, t) * right(t, j);
        size += std::fabs(static_cast<double>(left(i, t)) * static_cast<double>(right(t, j)));
      }
      if constexpr (detail::one_thread_per_block<Exec>) {
        ASSERT_EQ(got[c.place(i, j)], sum) << where;
      } else {
        ASSERT_NEAR(got[c.place(i, j)], sum, 1e-5 * size) << where;
      }
      c.host[c.place(i, j)] = got[c.place(i, j)];
    }
  }
  test::expect_same_numbers(got, c.host, where + ", what lies around it");
}

TYPED_TEST(MatrixProductTest, IsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const Extents& of : cases) {
    const std::string where =
        std::to_string(of.rows) + " x " + std::to_string(of.terms) + " x " + std::to_string(of.columns);
    const Part<Space> a(of.rows, of.terms, 1);
    const Part<Space> at(of.terms, of.rows, 1);
    const Part<Space> b(of.terms, of.columns, 2);
    const Part<Space> bt(of.columns, of.terms, 2);
    const auto of_a = [&](std::int64_t i, std::int64_t j) { return a.at(i, j); };
    const auto of_at = [&](std::int64_t i, std::int64_t j) { return at.at(j, i); };
    const auto of_b = [&](std::int64_t i, std::int64_t j) { return b.at(i, j); };
    const auto of_bt = [&](std::int64_t i, std::int64_t j) { return bt.at(j, i); };
    expect_product<TypeParam, Space>(
        of, [&](const auto& c) { multiply_ab<TypeParam, Space>(TypeParam{}, a.view(), b.view(), c); }, of_a,
        of_b, where);
    expect_product<TypeParam, Space>(
        of, [&](const auto& c) { multiply_atb<TypeParam, Space>(TypeParam{}, at.view(), b.view(), c); },
        of_at, of_b, where + ", left transposed");
    expect_product<TypeParam, Space>(
        of, [&](const auto& c) { multiply_abt<TypeParam, Space>(TypeParam{}, a.view(), bt.view(), c); }, of_a,
        of_bt, where + ", right transposed");
  }
}

}  // namespace
}  // namespace kadam
