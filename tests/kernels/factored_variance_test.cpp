// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/factored_variance.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/factored_variance.hpp>
#include <support/recorded_work.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace kadam {
namespace {

using reference::FactoredVariance;

TEST(FactoredVarianceReference, HandSized) {
  // Squares 1 4 / 9 16: row means 2.5 and 12.5, column means 5 and 10, half of them with beta2 = 0.5.
  FactoredVariance factored({{0, 4, "", 1.0, {}, false, {2, 2}}, {4, 6}});
  factored.update({1.0F, -2.0F, 3.0F, 4.0F, 2.0F, -6.0F}, 0.5);
  EXPECT_EQ(factored.tensors[0].rows, (std::vector<float>{1.25F, 6.25F}));
  EXPECT_EQ(factored.tensors[0].columns, (std::vector<float>{2.5F, 5.0F}));
  const std::vector<float> v = factored.variance(6);
  EXPECT_FLOAT_EQ(v[0], 1.25F * 2.5F / 3.75F);
  EXPECT_FLOAT_EQ(v[3], 6.25F * 5.0F / 3.75F);
  EXPECT_EQ(v[4], 2.0F);
  EXPECT_EQ(v[5], 18.0F);
}

/// Tensors with elements before, between and behind them that belong to none: small ones, narrow and wide
/// ones, with one and with several panels each way, on a CPU and on a GPU.
struct Shapes {
  std::vector<VarianceShape> all;
  std::vector<reference::Tensor> tensors;
  test::HostSegments segments;
  std::int64_t elements = 5;

  Shapes() { segments = {{elements}, {SegmentFactors{}}}; }
  explicit Shapes(const std::vector<std::pair<std::int64_t, std::int64_t>>& sizes) : Shapes() {
    for (const auto& [rows, columns] : sizes) add(rows, columns);
    elements += 3;
    segments.ends.push_back(elements);
    segments.factors.push_back({});
  }
  static Shapes of_all_kinds() {
    return Shapes({{2, 2},
                   {7, 1},
                   {3, 5},
                   {2, 1500},
                   {1500, 2},
                   {64, 64},
                   {65, 63},
                   {1, 33},
                   {129, 70},
                   {70, 129},
                   {3000, 1},
                   {1030, 1100},
                   {4097, 3},
                   {3, 4097},
                   {300, 300}});
  }

 private:
  void add(std::int64_t rows, std::int64_t columns) {
    all.push_back({elements, rows, columns});
    tensors.push_back({elements, elements + rows * columns, "", 1.0, {}, false, {rows, columns}});
    elements += rows * columns;
    segments.ends.push_back(elements);
    segments.factors.push_back({1.0 + 0.25 * static_cast<double>(all.size() % 4), 0.0});
    if (all.size() % 3 == 0) elements += 1;  // so that tensors begin anywhere
    if (all.size() % 3 != 0) return;
    segments.ends.push_back(elements);
    segments.factors.push_back({});
  }
};

/// Writes v.
struct CopyVariance {
  KOKKOS_FUNCTION CopyVariance operator()(std::int64_t /*segment*/, const SegmentFactors& /*factors*/) const {
    return {};
  }
  KOKKOS_FUNCTION void operator()(const float& v, float& out) const { out = v; }
};

constexpr float scale = 0.375F;
constexpr double beta2 = 0.9;

template <class Exec>
class FactoredVarianceTest : public testing::Test {
 public:
  using Memory = typename Exec::memory_space;
  using Factors = VarianceFactors<Memory>;
  using Floats = Kokkos::View<float*, Memory>;

  static std::vector<float> variance_of(const Factors& factors, const Shapes& shapes) {
    const auto out = test::to_device<Memory>(std::vector<float>(static_cast<std::size_t>(shapes.elements)));
    for_each_with_variance("kadam::test", Exec{}, factors,
                           test::by_segment<Memory>(shapes.segments, CopyVariance{}), writes(out));
    Kokkos::fence();
    return test::to_host(out);
  }
  static void update(const Factors& factors, const std::vector<float>& gradient, double beta) {
    update_variance(Exec{}, factors, Ema::make(beta), scale, test::to_device<Memory>(gradient));
  }
  static std::vector<float> scaled(std::vector<float> gradient) {
    for (float& g : gradient) g *= scale;
    return gradient;
  }
  static void expect_near(const std::vector<float>& got, const std::vector<float>& wanted,
                          const std::string& where) {
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], wanted[i], 1e-6F * wanted[i]) << where << ", element " << i;
  }
};
TYPED_TEST_SUITE(FactoredVarianceTest, test::ExecutionSpaces);

TYPED_TEST(FactoredVarianceTest, IsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  const Shapes shapes = Shapes::of_all_kinds();
  const auto factors = VarianceFactors<Space>::template make<TypeParam>(shapes.all);
  FactoredVariance wanted(shapes.tensors);
  for (unsigned t = 0; t < 3; ++t) {
    const auto gradient = test::random_vector(shapes.elements, 50 + t);
    this->update(factors, gradient, beta2);
    wanted.update(this->scaled(gradient), beta2);
    this->expect_near(this->variance_of(factors, shapes),
                      wanted.variance(static_cast<std::size_t>(shapes.elements)),
                      "step " + std::to_string(t));
  }
}

/// On a CPU the same bits by any number of threads.
TYPED_TEST(FactoredVarianceTest, HasTheBitsOfOneThread) {
  using Space = typename TypeParam::memory_space;
  if constexpr (!detail::one_thread_per_block<TypeParam>) {
    GTEST_SKIP() << "a GPU adds in another order";
  } else {
    const Shapes shapes = Shapes::of_all_kinds();
    const auto factors = VarianceFactors<Space>::template make<TypeParam>(shapes.all);
    const auto serial = VarianceFactors<Kokkos::HostSpace>::template make<Kokkos::Serial>(shapes.all);
    const auto gradient = test::random_vector(shapes.elements, 60);
    this->update(factors, gradient, beta2);
    update_variance(Kokkos::Serial{}, serial, Ema::make(beta2), scale,
                    test::to_device<Kokkos::HostSpace>(gradient));
    Kokkos::fence();
    test::expect_same_numbers(test::to_host(factors.values), test::to_host(serial.values), "values");
    test::expect_same_numbers(test::to_host(factors.means), test::to_host(serial.means), "means");
  }
}

TYPED_TEST(FactoredVarianceTest, IsExactWhereSquaresHaveRankOne) {
  using Space = typename TypeParam::memory_space;
  const Shapes shapes({{100, 130}, {2, 3}});
  const auto factors = VarianceFactors<Space>::template make<TypeParam>(shapes.all);
  std::vector<float> gradient(static_cast<std::size_t>(shapes.elements), 0.0F);
  for (const VarianceShape& shape : shapes.all) {
    for (std::int64_t j = 0; j < shape.rows; ++j) {
      for (std::int64_t k = 0; k < shape.columns; ++k) {
        const float sign = (j * k) % 3 == 0 ? -1.0F : 1.0F;
        gradient[static_cast<std::size_t>(shape.begin + j * shape.columns + k)] =
            sign * static_cast<float>(1 + j) * static_cast<float>(2 + k % 7);
      }
    }
  }
  this->update(factors, gradient, 0.0);
  auto wanted = this->scaled(gradient);
  for (float& g : wanted) g *= g;
  this->expect_near(this->variance_of(factors, shapes), wanted, "rank one");
}

/// A product of two factors would be too small or too large for a float32; a dead matrix has no mean.
TYPED_TEST(FactoredVarianceTest, HoldsWhatAVarianceHolds) {
  using Space = typename TypeParam::memory_space;
  const Shapes shapes({{4, 6}, {5, 5}});
  for (const float size : {0.0F, 1e-15F, 1e15F}) {
    const auto factors = VarianceFactors<Space>::template make<TypeParam>(shapes.all);
    const std::vector<float> gradient(static_cast<std::size_t>(shapes.elements), size);
    this->update(factors, gradient, 0.0);
    const auto got = this->variance_of(factors, shapes);
    for (const VarianceShape& shape : shapes.all) {
      for (std::int64_t i = shape.begin; i < shape.begin + shape.elements(); ++i)
        ASSERT_FLOAT_EQ(got[static_cast<std::size_t>(i)], (scale * size) * (scale * size)) << size;
    }
  }
}

/// Every format; by the rule of each segment; elements of no tensor stay.
TYPED_TEST(FactoredVarianceTest, DirectionsAndUpdatesAreEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  const Shapes shapes = Shapes::of_all_kinds();
  const auto n = static_cast<std::size_t>(shapes.elements);
  const double gamma = 0.02;
  const double c1 = 0.19;
  const double c2 = 0.002;
  const Ema first = Ema::make(0.9);
  test::for_each_format<Space>(
      test::random_vector(shapes.elements, 70),
      [&](const Numbers<Space>& gradient, const std::vector<float>& numbers, const std::string& format) {
        const auto factors = VarianceFactors<Space>::template make<TypeParam>(shapes.all);
        update_variance(TypeParam{}, factors, Ema::make(beta2), scale, gradient);
        const std::vector<float> v = this->variance_of(factors, shapes);
        std::vector<float> m = test::random_vector(shapes.elements, 71);
        std::vector<float> target = test::random_vector(shapes.elements, 72);
        std::vector<float> x = test::random_vector(shapes.elements, 73);
        const auto m_device = test::to_device<Space>(m);
        const auto m_of_update = test::to_device<Space>(m);
        const auto target_device = test::to_device<Space>(target);
        const auto x_device = test::to_device<Space>(x);
        accumulate_momentum_direction(
            TypeParam{},
            test::by_segment<Space>(
                shapes.segments,
                MomentumAndDirectionOf{first, scale, AdamDirectionOf::make(0.5, gamma, 1e-3, c1, c2)}),
            factors, m_device, gradient, target_device);
        momentum_update(
            TypeParam{},
            test::by_segment<Space>(shapes.segments,
                                    MomentumStepOf{first, scale, AdamApplyOf::make(gamma, 1e-3, c1, c2)}),
            factors, x_device, m_of_update, gradient);
        Kokkos::fence();
        std::vector<bool> has_variance(n, false);
        for (const VarianceShape& shape : shapes.all) {
          for (std::int64_t i = shape.begin; i < shape.begin + shape.elements(); ++i)
            has_variance[static_cast<std::size_t>(i)] = true;
        }
        shapes.segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
          if (!has_variance[i]) return;
          const double lr_scale = shapes.segments.factors[static_cast<std::size_t>(segment)].lr_scale;
          m[i] = first(m[i], scale * numbers[i]);
          const float step = static_cast<float>(gamma / c1 * lr_scale) * m[i] /
                             (std::sqrt(v[i] * static_cast<float>(1.0 / c2)) + 1e-3F);
          target[i] = reference::flushed(0.5F * target[i] + step);
          x[i] = x[i] - step;
        });
        test::expect_same_numbers(test::to_host(m_device), m, "m, " + format);
        test::expect_same_numbers(test::to_host(m_of_update), m, "m of the update, " + format);
        test::expect_same_numbers(test::to_host(target_device), target, "target, " + format);
        test::expect_same_numbers(test::to_host(x_device), x, "x, " + format);
      });
}

/// However many tensors there are.
TYPED_TEST(FactoredVarianceTest, IsThreeKernelsAndOne) {
  using Space = typename TypeParam::memory_space;
  const Shapes shapes = Shapes::of_all_kinds();
  const auto factors = VarianceFactors<Space>::template make<TypeParam>(shapes.all);
  const auto gradient = test::to_device<Space>(test::random_vector(shapes.elements, 80));
  const auto rules = test::by_segment<Space>(shapes.segments, CopyVariance{});
  const TypeParam exec;
  exec.fence();
  const test::RecordedWork work;
  update_variance(exec, factors, Ema::make(beta2), scale, gradient);
  for_each_with_variance("kadam::test", exec, factors, rules, updates(gradient));
  EXPECT_EQ(work.launches(), (std::vector<std::string>{"kadam::sum_squares", "kadam::update_variance",
                                                       "kadam::find_row_means", "kadam::test"}));
  EXPECT_EQ(work.fences(), std::vector<std::string>{});
}

TYPED_TEST(FactoredVarianceTest, OfNothingIsNothing) {
  using Space = typename TypeParam::memory_space;
  const auto factors = VarianceFactors<Space>::template make<TypeParam>({});
  this->update(factors, {}, beta2);
  EXPECT_EQ(factors.values.extent(0), 0U);
  EXPECT_EQ(VarianceFactors<Space>::value_count({{0, 3, 4}, {12, 5, 1}, {17, 1, 6}}), 3 + 4 + 5 + 6);
}

}  // namespace
}  // namespace kadam
