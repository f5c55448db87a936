// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/adam_direction.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace kadam {
namespace {

/// The three vectors that the kernels change, and a plain loop over a range of them.
struct DirectionState {
  std::vector<float> m;
  std::vector<float> v;
  std::vector<float> target;

  static constexpr float beta1 = 0.9F;
  static constexpr float beta2 = 0.999F;
  static constexpr float eps = 1e-3F;
  static constexpr float clip = 0.375F;

  void update_moments(std::int64_t begin, std::int64_t end, const std::vector<float>& gradient) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const float g = clip * gradient[i];
      m[i] = beta1 * m[i] + static_cast<float>(1.0 - 0.9) * g;
      v[i] = beta2 * v[i] + static_cast<float>(1.0 - 0.999) * (g * g);
    }
  }
  void add_direction(std::int64_t begin, std::int64_t end, float keep, float step, float inverse_c2) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      target[i] = keep * target[i] + step * m[i] / (std::sqrt(v[i] * inverse_c2) + eps);
    }
  }
};

TEST(AdamDirection, HandSized) {
  // m = 0.1 / c1 = 0.1, v = 0.04: 0.5 * 2 + 0.2 * (0.3 / 0.1) / (sqrt(0.04 / 0.25) + 0.1)
  const AdamDirection direction = AdamDirection::make(0.5, 0.2, 0.1, 0.1, 0.25);
  EXPECT_NEAR(direction(2.0F, 0.3F, 0.04F), 1.0 + 0.2 * 3.0 / 0.5, 1e-6);
}

template <class Exec>
class AdamDirectionTest : public testing::Test {
 public:
  using Memory = typename Exec::memory_space;
  using Floats = Kokkos::View<float*, Memory>;

  static constexpr double c1 = 0.19;
  static constexpr double c2 = 0.002;
  static constexpr double gamma = 0.02;

  struct OnDevice {
    Floats m;
    Floats v;
    Floats target;
  };
  static DirectionState random_state(std::int64_t n) {
    return {test::vector_with_nan(n, 1), test::random_variance(n, 2), test::random_vector(n, 3)};
  }
  static OnDevice copy_of(const DirectionState& state) {
    return {test::to_device<Memory>(state.m), test::to_device<Memory>(state.v),
            test::to_device<Memory>(state.target)};
  }
  static void expect_same(const OnDevice& got, const DirectionState& wanted, const std::string& where) {
    Kokkos::fence();
    test::expect_same_numbers(test::to_host(got.m), wanted.m, "m, " + where);
    test::expect_same_numbers(test::to_host(got.v), wanted.v, "v, " + where);
    test::expect_same_numbers(test::to_host(got.target), wanted.target, "target, " + where);
  }
};
TYPED_TEST_SUITE(AdamDirectionTest, test::ExecutionSpaces);

constexpr MomentUpdate moments_of_test{
    {0.9F, static_cast<float>(1.0 - 0.9)}, {0.999F, static_cast<float>(1.0 - 0.999)}, DirectionState::clip};

/// Elements outside of [begin, end) stay as they are. keep = 0 forgets what is there.
TYPED_TEST(AdamDirectionTest, BothAtOnceAreEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const auto gradient = test::random_gradient(n, 0, 1);
    test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
      for (const auto& [begin, end] : test::ranges_of(n)) {
        const float keep = begin == 0 ? 1.0F : begin == n / 3 ? 0.0F : 0.9F;
        DirectionState wanted = TestFixture::random_state(n);
        const auto got = TestFixture::copy_of(wanted);
        const auto direction =
            AdamDirection::make(static_cast<double>(keep), this->gamma,
                                static_cast<double>(DirectionState::eps), this->c1, this->c2);
        wanted.update_moments(begin, end, values);
        wanted.add_direction(begin, end, keep, static_cast<float>(this->gamma / this->c1),
                             static_cast<float>(1.0 / this->c2));
        accumulate_adam_direction(TypeParam{}, moments_of_test, direction, begin, end, got.m, got.v, numbers,
                                  got.target);
        TestFixture::expect_same(got, wanted,
                                 "n " + std::to_string(n) + " from " + std::to_string(begin) + " " + format);
      }
    });
  }
}

TYPED_TEST(AdamDirectionTest, MomentsAloneAndDirectionAloneAreEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  using ConstFloats = Kokkos::View<const float*, Space>;
  for (const std::int64_t n : test::sizes) {
    const auto gradient = test::random_gradient(n, 0, 1);
    test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
      DirectionState wanted = TestFixture::random_state(n);
      const auto got = TestFixture::copy_of(wanted);
      wanted.update_moments(0, n, values);
      update_moments(TypeParam{}, moments_of_test, got.m, got.v, numbers);
      TestFixture::expect_same(got, wanted, "n " + std::to_string(n) + " " + format);
      for (const auto& [begin, end] : test::ranges_of(n)) {
        const AdamDirection direction{0.5F, 0.1F, 3.0F, DirectionState::eps};
        wanted.add_direction(begin, end, 0.5F, 0.1F, 3.0F);
        accumulate_direction<TypeParam, Space>(TypeParam{}, direction, begin, end, ConstFloats(got.m),
                                               ConstFloats(got.v), got.target);
        TestFixture::expect_same(got, wanted, "n " + std::to_string(n) + " from " + std::to_string(begin));
      }
    });
  }
}

TYPED_TEST(AdamDirectionTest, WeightsOfARangeDecay) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    std::vector<float> wanted = test::vector_with_nan(n, 4);
    const auto x = test::to_device<Space>(wanted);
    for (const auto& [begin, end] : test::ranges_of(n)) {
      for (const float decay : {0.75F, 1.0F}) {
        for (auto i = begin; i < end; ++i) wanted[static_cast<std::size_t>(i)] *= decay;
        decay_weights(TypeParam{}, decay, begin, end, x);
        Kokkos::fence();
        test::expect_same_numbers(test::to_host(x), wanted, "n " + std::to_string(n));
      }
    }
  }
}

}  // namespace
}  // namespace kadam
