// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/half_copy.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/ordered_mean.hpp>
#include <kernels/execution_spaces.hpp>
#include <reference/number_format.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

/// Conversions, as kernels make them, over all patterns of 16 bits and all that lies around them.
namespace kadam {
namespace {

template <Number T>
reference::Format reference_of() {
  return reference::Format::named(name_of(format_of<T>));
}

/// Equal to the last bit, the sign of zero included; any NaN equals any other.
bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) ||
         std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

template <Number T>
std::vector<T> all_patterns() {
  std::vector<T> all;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) all.push_back({static_cast<std::uint16_t>(bits)});
  return all;
}

template <class Exec, Number T>
std::vector<T> rounded_by_kernel(const std::vector<float>& values) {
  using Space = typename Exec::memory_space;
  const Kokkos::View<T*, Space> out("out", values.size());
  write_copy<Exec, Space>(Exec{}, test::to_device<Space>(values), HalfCopy<Space>(out));
  Kokkos::fence();
  return test::to_host(out);
}

template <class Exec, Number T>
void compare_all_patterns() {
  using Space = typename Exec::memory_space;
  const auto patterns = all_patterns<T>();
  const Kokkos::View<float*, Space> out("out", patterns.size());
  scale_numbers<Exec, Space>(Exec{}, 1.0F, test::to_device<Space>(patterns), out);
  Kokkos::fence();
  const auto values = test::to_host(out);
  const auto back = rounded_by_kernel<Exec, T>(values);
  for (std::size_t k = 0; k < patterns.size(); ++k) {
    ASSERT_TRUE(same(values[k], reference_of<T>().value_of(patterns[k].bits))) << std::hex << k;
    if (std::isnan(values[k])) {
      ASSERT_TRUE(std::isnan(to_float(back[k]))) << std::hex << k;
    } else {
      ASSERT_EQ(back[k].bits, patterns[k].bits);
    }
  }
}

/// Every number, the middle between it and the next one away from zero, and what is next to that middle; then
/// float32 bit patterns all over their range.
template <Number T>
std::vector<float> values_to_round() {
  std::vector<float> values;
  for (const T pattern : all_patterns<T>()) {
    const float value = to_float(pattern);
    const float next = to_float(T{static_cast<std::uint16_t>(pattern.bits + 1U)});
    values.push_back(value);
    if (!std::isfinite(value) || std::isnan(next)) continue;
    // The largest number has no next one: as if there were.
    const auto half = std::isfinite(next)
                          ? static_cast<double>(next) - static_cast<double>(value)
                          : std::ldexp(value < 0.0F ? -1.0 : 1.0,
                                       std::ilogb(value) - (std::is_same_v<T, Float16> ? 10 : 7));
    const auto middle = static_cast<float>(static_cast<double>(value) + half / 2.0);
    for (const float toward : {0.0F, std::copysign(std::numeric_limits<float>::infinity(), value)}) {
      values.push_back(std::nextafter(middle, toward));
    }
    values.push_back(middle);
  }
  for (std::uint64_t bits = 0; bits < (std::uint64_t{1} << 32); bits += 10007) {
    values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  }
  return values;
}

template <class Exec, Number T>
void compare_rounding() {
  const std::vector<float> values = values_to_round<T>();
  const auto got = rounded_by_kernel<Exec, T>(values);
  for (std::size_t k = 0; k < values.size(); ++k) {
    ASSERT_TRUE(same(to_float(got[k]), reference_of<T>().rounded(values[k])))
        << std::hexfloat << values[k] << " gives " << to_float(got[k]);
  }
}

template <class Exec>
class NumberFormatTest : public testing::Test {};
TYPED_TEST_SUITE(NumberFormatTest, test::ExecutionSpaces);

TYPED_TEST(NumberFormatTest, EveryPatternIsItsNumberAndComesBack) {
  compare_all_patterns<TypeParam, Bfloat16>();
  compare_all_patterns<TypeParam, Float16>();
}

TYPED_TEST(NumberFormatTest, RoundsToNearestAndTiesToEven) {
  compare_rounding<TypeParam, Bfloat16>();
  compare_rounding<TypeParam, Float16>();
}

TYPED_TEST(NumberFormatTest, AFactorMultipliesEveryNumber) {
  using Space = typename TypeParam::memory_space;
  const std::vector<float> values = {1.0F, -3.0F, 0.0F, 0.5F, 1e-40F};
  const Kokkos::View<float*, Space> out("out", values.size());
  scale_numbers<TypeParam, Space>(TypeParam{}, -2.0F, test::to_device<Space>(values), out);
  Kokkos::fence();
  const auto got = test::to_host(out);
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(got[i], -2.0F * values[i]) << i;
}

TYPED_TEST(NumberFormatTest, MeansAreSummedInFloatAndRoundedOnce) {
  using Space = typename TypeParam::memory_space;
  constexpr std::int64_t n = 1000;
  constexpr int ranks = 3;
  std::vector<Bfloat16> parts;
  for (const float value : test::random_vector(n * ranks, 7)) parts.push_back(round_to<Bfloat16>(value));
  const Kokkos::View<Bfloat16*, Space> out("out", n);
  ordered_mean<TypeParam, Space>(TypeParam{}, n, ranks, n, test::to_device<Space>(parts), out);
  Kokkos::fence();
  const auto got = test::to_host(out);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float sum = to_float(parts[i]) + to_float(parts[i + n]) + to_float(parts[i + 2 * n]);
    ASSERT_EQ(to_float(got[i]), reference_of<Bfloat16>().rounded(sum * static_cast<float>(1.0 / 3.0))) << i;
  }
}

TEST(NumberFormat, HandSized) {
  EXPECT_EQ(round_to<Bfloat16>(1.0F).bits, 0x3f80);
  EXPECT_EQ(round_to<Bfloat16>(1.0F + 0x1p-8F).bits, 0x3f80);
  EXPECT_EQ(round_to<Bfloat16>(1.0F + 0x3p-8F).bits, 0x3f82);
  EXPECT_EQ(round_to<Bfloat16>(std::numeric_limits<float>::max()).bits, 0x7f80);
  EXPECT_EQ(round_to<Float16>(65519.0F).bits, 0x7bff);
  EXPECT_EQ(round_to<Float16>(65520.0F).bits, 0x7c00);
  EXPECT_EQ(round_to<Float16>(-1e30F).bits, 0xfc00);
  EXPECT_EQ(round_to<Float16>(0x1p-24F).bits, 1);
  EXPECT_EQ(round_to<Float16>(0x1p-25F).bits, 0);
  EXPECT_EQ(round_to<Float16>(0x1.1p-25F).bits, 1);
  EXPECT_EQ(round_to<Float16>(-0.0F).bits, 0x8000);
}

}  // namespace
}  // namespace kadam
