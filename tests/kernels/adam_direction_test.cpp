// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/adam_direction.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/formulas.hpp>

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

  static constexpr float eps = 1e-3F;
  static constexpr float clip = 0.375F;

  void update_moments(const std::vector<float>& gradient) {
    for (std::size_t i = 0; i < m.size(); ++i) {
      const float g = clip * gradient[i];
      m[i] = reference::ema(m[i], g, 0.9);
      v[i] = reference::ema(v[i], g * g, 0.999);
    }
  }
  void add_direction(const test::HostSegments& segments, double keep, double gamma, double c1, double c2) {
    const auto inverse_c2 = static_cast<float>(1.0 / c2);
    segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
      const double lr_scale = segments.factors[static_cast<std::size_t>(segment)].lr_scale;
      target[i] = static_cast<float>(keep) * target[i] +
                  static_cast<float>(gamma / c1 * lr_scale) * m[i] / (std::sqrt(v[i] * inverse_c2) + eps);
      if (keep < 1.0) target[i] = reference::flushed(target[i]);
    });
  }
};

TEST(AdamDirection, HandSized) {
  // m = 0.1 / c1 = 0.1, v = 0.04: 0.5 * 2 + 0.2 * (0.3 / 0.1) / (sqrt(0.04 / 0.25) + 0.1)
  const AdamDirection direction = AdamDirection::make(0.5, 0.2, 0.1, 0.1, 0.25);
  EXPECT_NEAR(direction.of(2.0F, 0.3F, 0.04F), 1.0 + 0.2 * 3.0 / 0.5, 1e-6);
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

/// keep = 0 forgets what is there.
TYPED_TEST(AdamDirectionTest, BothAtOnceAreEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const auto gradient = test::random_gradient(n, 0, 1);
    test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
      for (const double keep : {1.0, 0.0, 0.9}) {
        const auto segments = keep == 1.0 ? test::HostSegments::whole(n) : test::HostSegments::of(n);
        DirectionState wanted = TestFixture::random_state(n);
        const auto got = TestFixture::copy_of(wanted);
        const auto direction = AdamDirectionOf::make(
            keep, this->gamma, static_cast<double>(DirectionState::eps), this->c1, this->c2);
        wanted.update_moments(values);
        wanted.add_direction(segments, keep, this->gamma, this->c1, this->c2);
        accumulate_adam_direction(
            TypeParam{}, test::by_segment<Space>(segments, MomentsAndDirectionOf{moments_of_test, direction}),
            got.m, got.v, numbers, got.target);
        TestFixture::expect_same(got, wanted, "n " + std::to_string(n) + " " + format);
      }
    });
  }
}

TYPED_TEST(AdamDirectionTest, MomentsAloneAndDirectionAloneAreEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  using ConstFloats = Kokkos::View<const float*, Space>;
  for (const std::int64_t n : test::sizes) {
    const auto gradient = test::random_gradient(n, 0, 1);
    const auto segments = test::HostSegments::of(n);
    test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
      DirectionState wanted = TestFixture::random_state(n);
      const auto got = TestFixture::copy_of(wanted);
      wanted.update_moments(values);
      update_moments(TypeParam{}, moments_of_test, got.m, got.v, numbers);
      TestFixture::expect_same(got, wanted, "n " + std::to_string(n) + " " + format);
      const auto direction =
          AdamDirectionOf::make(0.5, 0.1, static_cast<double>(DirectionState::eps), 0.19, 0.3);
      wanted.add_direction(segments, 0.5, 0.1, 0.19, 0.3);
      accumulate_direction(TypeParam{}, test::by_segment<Space>(segments, direction), ConstFloats(got.m),
                           ConstFloats(got.v), got.target);
      TestFixture::expect_same(got, wanted, "n " + std::to_string(n) + " direction alone");
    });
  }
}

TYPED_TEST(AdamDirectionTest, WeightsOfASegmentDecay) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const auto segments = test::HostSegments::of(n);
    std::vector<float> wanted = test::vector_with_nan(n, 4);
    const auto x = test::to_device<Space>(wanted);
    segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
      const auto& [lr_scale, lambda] = segments.factors[static_cast<std::size_t>(segment)];
      wanted[i] *= static_cast<float>(1.0 - 0.5 * lr_scale * lambda);
    });
    decay_weights(TypeParam{}, test::by_segment<Space>(segments, WeightDecayOf{0.5}), x);
    Kokkos::fence();
    test::expect_same_numbers(test::to_host(x), wanted, "n " + std::to_string(n));
  }
}

}  // namespace
}  // namespace kadam
