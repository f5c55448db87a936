// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/byte_moments.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/eight_bit_moments.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace kadam {
namespace {

TEST(ByteMoments, WorkedNumbers) {
  EXPECT_EQ(ShareCode<8>::decode(255), 1.0F);
  EXPECT_EQ(ShareCode<8>::decode(254), 0.9375F);
  EXPECT_EQ(ShareCode<8>::decode(1), 1.25F * 0x1p-32F);
  EXPECT_EQ(ShareCode<8>::decode(0), 0.0F);
  EXPECT_EQ(ShareCode<7>::decode(127), 1.0F);
  EXPECT_EQ(ShareCode<7>::decode(1), 1.25F * 0x1p-16F);
  // A quarter of the way from 0.5 to 0.5625.
  EXPECT_EQ(ShareCode<7>::decode(ShareCode<7>::encode(0.515625F, 0xbfffU)), 0.5F);
  EXPECT_EQ(ShareCode<7>::decode(ShareCode<7>::encode(0.515625F, 0xc000U)), 0.5625F);
  EXPECT_EQ(ShareCode<7>::decode(ShareCode<7>::encode(0.515625F, ShareCode<7>::nearest)), 0.5F);
  // m may vanish beside the largest, v not.
  EXPECT_EQ(FirstMomentCode::encode(-1e-9F, 1.0F, 0U), 0x80U);
  EXPECT_EQ(SecondMomentCode::encode(1e-20F, 1.0F, 0U), 1U);
  EXPECT_EQ(SecondMomentCode::encode(0.0F, 1.0F, 0xffffU), 0U);
  EXPECT_EQ(FirstMomentCode::decode(FirstMomentCode::encode(-3.0F, 1.0F / 3.0F, 0U), 3.0F), -3.0F);
}

/// Also after what a division leaves of it, whatever chance says.
TEST(ByteMoments, EveryCodeIsThatOfItsNumber) {
  for (std::int32_t code = 0; code <= 255; ++code) {
    for (const float scale : {1.0F, 0.7F, 3e-17F, 1.7e11F}) {
      const float inverse = MomentScale::of(scale).inverse;
      for (const std::uint32_t chance : {0U, 0x8000U, 0xffffU}) {
        const auto byte = static_cast<std::uint8_t>(code);
        EXPECT_EQ(SecondMomentCode::encode(SecondMomentCode::decode(byte, scale), inverse, chance), byte);
        EXPECT_EQ(FirstMomentCode::encode(FirstMomentCode::decode(byte, scale), inverse, chance), byte);
      }
    }
  }
}

TEST(ByteMoments, ScalesAreNeitherInfiniteNorDenormal) {
  EXPECT_EQ(MomentScale::of(0.0F).inverse, 0.0F);
  EXPECT_EQ(MomentScale::of(1e-39F).scale, 0.0F);
  EXPECT_EQ(MomentScale::of(0x1p-126F).inverse, 0x1p126F);
  EXPECT_EQ(MomentScale::of(std::numeric_limits<float>::infinity()).scale, 0x1p126F);
  EXPECT_EQ(SecondMomentCode::encode(std::numeric_limits<float>::infinity(), 0x1p-126F, 0U), 255U);
}

TEST(ByteMoments, NoBlockHasElementsOfTwoTensors) {
  using Blocks = TensorBlocks<Kokkos::HostSpace>;
  const std::vector<std::int64_t> boundaries = {0, 300, 300, 310, 822, 822};
  EXPECT_EQ(Blocks::first_blocks(boundaries), (std::vector<std::int64_t>{0, 2, 2, 3, 5, 5}));
  const auto blocks = Blocks::make(boundaries);
  const std::vector<std::int64_t> begins = {0, 256, 300, 310, 566, 822};
  for (std::int64_t b = 0; b < 5; ++b) {
    const auto k = static_cast<std::size_t>(b);
    EXPECT_EQ(blocks.block(b).begin, begins[k]);
    EXPECT_EQ(blocks.block(b).end, begins[k + 1]);
  }
}

/// Tensors that begin where packs do and elsewhere, some empty.
std::vector<std::int64_t> boundaries_of(std::int64_t n) {
  constexpr std::int64_t lengths[] = {1024, 0, 5, 256, 1000, 3, 700, 4096, 0, 12};
  std::vector<std::int64_t> boundaries = {0};
  while (boundaries.back() < n) {
    boundaries.push_back(
        std::min(n, boundaries.back() + lengths[(boundaries.size() - 1) % std::size(lengths)]));
  }
  return boundaries;
}

template <class Exec>
class ByteMomentsTest : public testing::Test {
 public:
  using Space = typename Exec::memory_space;
  using Floats = Kokkos::View<float*, Space>;
  using Codes = Kokkos::View<std::uint8_t*, Space>;

  static ByteMoments<Space> make(const std::vector<std::int64_t>& boundaries) {
    const auto n = static_cast<std::size_t>(boundaries.back());
    const auto blocks = static_cast<std::size_t>(TensorBlocks<Space>::first_blocks(boundaries).back());
    return {TensorBlocks<Space>::make(boundaries), Codes("m", n), Codes("v", n), Floats("m_scales", blocks),
            Floats("v_scales", blocks)};
  }
  static std::vector<std::vector<float>> decoded(const ByteMoments<Space>& moments) {
    const Floats m("m", moments.m.extent(0));
    const Floats v("v", moments.m.extent(0));
    decode_byte_moments(Exec{}, moments, m, v);
    Kokkos::fence();
    return {test::to_host(m), test::to_host(v)};
  }
};
TYPED_TEST_SUITE(ByteMomentsTest, test::ExecutionSpaces);

/// Adam by plain loops, whose moments are rounded as the reference rounds.
struct State {
  std::vector<float> x;
  std::vector<float> m;
  std::vector<float> v;

  void step(const test::HostSegments& segments, const std::vector<std::int64_t>& boundaries,
            const std::vector<float>& gradient, std::uint32_t rounding) {
    segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
      const auto& [lr_scale, lambda] = segments.factors[static_cast<std::size_t>(segment)];
      const double gamma = 0.02 * lr_scale;
      const float g = 0.375F * gradient[i];
      m[i] = 0.9F * m[i] + static_cast<float>(1.0 - 0.9) * g;
      v[i] = 0.999F * v[i] + static_cast<float>(1.0 - 0.999) * (g * g);
      x[i] = static_cast<float>(1.0 - gamma * lambda) * x[i] -
             static_cast<float>(0.02 / 0.19 * lr_scale) * m[i] /
                 (std::sqrt(v[i] * static_cast<float>(1.0 / 0.002)) + 1e-3F);
    });
    for (std::size_t k = 0; k + 1 < boundaries.size(); ++k) {
      for (std::int64_t begin = boundaries[k]; begin < boundaries[k + 1]; begin += 256) {
        const auto first = static_cast<std::size_t>(begin);
        const auto count = static_cast<std::size_t>(std::min<std::int64_t>(256, boundaries[k + 1] - begin));
        using reference::EightBitMoments;
        EightBitMoments::round_block(&m[first], count, first, true, rounding, nullptr, nullptr);
        EightBitMoments::round_block(&v[first], count, first, false, rounding, nullptr, nullptr);
      }
    }
  }
};

/// Segments that begin anywhere in blocks, gradients of all formats, with and without a copy, views that are
/// not aligned for packs: to the last bit.
TYPED_TEST(ByteMomentsTest, UpdatesAreThoseOfTheReference) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : {0, 1, 31, 256, 257, 1000, 70001}) {
    const auto segments = test::HostSegments::of(n);
    const auto boundaries = boundaries_of(n);
    const auto rule = test::by_segment<Space>(
        segments,
        AdamStepOf{Ema::make(0.9), Ema::make(0.999), 0.375F, AdamApplyOf::make(0.02, 1e-3, 0.19, 0.002)});
    std::vector<float> gradient = test::random_gradient(n, 0, 1);
    // Blocks without any, and elements that vanish beside others.
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      if (i / 512 % 4 == 1) gradient[i] = 0.0F;
      if (i % 7 == 3) gradient[i] *= 1e-7F;
    }
    test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
      for (const std::size_t offset : {0U, 1U}) {
        State wanted{test::random_vector(n, 1), std::vector<float>(static_cast<std::size_t>(n)),
                     std::vector<float>(static_cast<std::size_t>(n))};
        const Kokkos::View<float*, Space> room("x", static_cast<std::size_t>(n) + offset);
        const Kokkos::View<float*, Space> x =
            Kokkos::subview(room, Kokkos::make_pair(offset, offset + static_cast<std::size_t>(n)));
        Kokkos::deep_copy(x, test::to_device<Space>(wanted.x));
        const auto moments = TestFixture::make(boundaries);
        const auto blocks = static_cast<std::int64_t>(moments.m_scales.extent(0));
        const Kokkos::View<Bfloat16*, Space> copy("copy", static_cast<std::size_t>(n));
        const std::string where = "n " + std::to_string(n) + " " + format;
        for (std::uint32_t t = 1; t <= 4; ++t) {
          const HalfCopy<Space> half = t % 2 == 0 ? HalfCopy<Space>(copy) : HalfCopy<Space>();
          wanted.step(segments, boundaries, values, t);
          // In two launches, as of tensors with steps of their own.
          update_byte_moments(TypeParam{}, rule, moments, t, 0, blocks / 3, x, numbers, half);
          update_byte_moments(TypeParam{}, rule, moments, t, blocks / 3, blocks, x, numbers, half);
          Kokkos::fence();
          test::expect_same_numbers(test::to_host(x), wanted.x, "x, " + where);
          const auto got = TestFixture::decoded(moments);
          test::expect_same_numbers(got[0], wanted.m, "m, " + where);
          test::expect_same_numbers(got[1], wanted.v, "v, " + where);
        }
        const auto copied = test::to_host(copy);
        for (std::size_t i = 0; i < copied.size(); ++i) {
          ASSERT_EQ(copied[i].bits, round_to<Bfloat16>(wanted.x[i]).bits) << where << " element " << i;
        }
      }
    });
  }
}

/// What is decoded is encoded as the same codes and scales again.
TYPED_TEST(ByteMomentsTest, AreTheSameAfterTheyWereFloats) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 20001;
  const auto boundaries = boundaries_of(n);
  const auto moments = TestFixture::make(boundaries);
  const auto blocks = static_cast<std::int64_t>(moments.m_scales.extent(0));
  const auto x = test::to_device<Space>(test::random_vector(n, 1));
  for (std::uint32_t t = 1; t <= 5; ++t) {
    const Kokkos::View<const float*, Space> g = test::to_device<Space>(test::random_gradient(n, 0, t));
    const AdamStep rule{Ema::make(0.9), Ema::make(0.999), 1.0F, AdamApply::make(0.01, 0.0, 1e-8, 0.1, 0.1)};
    update_byte_moments(TypeParam{}, rule, moments, t, 0, blocks, x, g);
  }
  const auto floats = TestFixture::decoded(moments);
  const auto again = TestFixture::make(boundaries);
  encode_byte_moments<TypeParam, Space>(TypeParam{}, test::to_device<Space>(floats[0]),
                                        test::to_device<Space>(floats[1]), again);
  Kokkos::fence();
  EXPECT_EQ(test::to_host(again.m), test::to_host(moments.m));
  EXPECT_EQ(test::to_host(again.v), test::to_host(moments.v));
  EXPECT_EQ(test::to_host(again.m_scales), test::to_host(moments.m_scales));
  EXPECT_EQ(test::to_host(again.v_scales), test::to_host(moments.v_scales));
}

/// v falls by a thousandth a step, less than half of what lies between two codes: to the nearest it would
/// stay where it is beside an element that keeps its size.
TYPED_TEST(ByteMomentsTest, KeepWhatIsSmallBesideThem) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 4096;
  std::vector<float> v(static_cast<std::size_t>(n), 0.7F);
  std::vector<float> g(static_cast<std::size_t>(n), 0.0F);
  for (std::size_t i = 0; i < v.size(); i += 256) v[i] = g[i] = 1.0F;
  const auto moments = TestFixture::make({0, n});
  encode_byte_moments<TypeParam, Space>(TypeParam{}, test::to_device<Space>(v), test::to_device<Space>(v),
                                        moments);
  const auto x = test::to_device<Space>(v);
  const Kokkos::View<const float*, Space> gradient = test::to_device<Space>(g);
  const AdamStep rule{Ema::make(0.9), Ema::make(0.999), 1.0F, AdamApply::make(0.0, 0.0, 1e-8, 1.0, 1.0)};
  const std::uint32_t steps = 1000;
  for (std::uint32_t t = 1; t <= steps; ++t) {
    update_byte_moments(TypeParam{}, rule, moments, t, 0, n / 256, x, gradient);
  }
  const std::vector<float> got = TestFixture::decoded(moments)[1];
  double mean = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i)
    mean += i % 256 == 0 ? 0.0 : static_cast<double>(got[i]) / (n - 16);
  // It began at the code next to 0.7.
  EXPECT_NEAR(mean, 0.6875 * std::pow(0.999, steps), 0.01);
}

}  // namespace
}  // namespace kadam
