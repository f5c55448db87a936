// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/bfloat16_errors.hpp>
#include <kadam/kernels/block_coder.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/wire/block_message.hpp>
#include <kernels/block_cases.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/block_code.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <cmath>
#include <vector>

namespace kadam {
namespace {

TEST(Bfloat16Errors, WorkedNumbers) {
  EXPECT_EQ(scattered(0), 0U);
  EXPECT_EQ(scattered(1), 0x688990c0U);
  EXPECT_EQ(to_float(round_by_chance(1.0F + 0x1p-9F, 0xc000U)), 1.0F + 0x1p-7F);
  EXPECT_EQ(to_float(round_by_chance(1.0F + 0x1p-9F, 0xbfffU)), 1.0F);
  EXPECT_EQ(to_float(round_by_chance(-1.0F - 0x1p-9F, 0xc000U)), -1.0F - 0x1p-7F);
  EXPECT_EQ(to_float(round_by_chance(-0.5F, 0xffffU)), -0.5F);
  EXPECT_EQ(to_float(round_by_chance(0.0F, 0xffffU)), 0.0F);
}

/// Signs of size 0: all stays in the error.
struct SayNothing : SignQuantiser {
  KOKKOS_FUNCTION float scale(double /*statistic*/, std::int64_t /*elements*/) const { return 0x1p-100F; }
};

template <class Exec>
class Bfloat16ErrorsTest : public testing::Test {
 public:
  using Space = typename Exec::memory_space;
  using Floats = Kokkos::View<float*, Space>;
  using Shorts = Kokkos::View<Bfloat16*, Space>;
  static constexpr std::int64_t n = 7001;
  static constexpr std::uint32_t rounding = 17;

  static Shorts rounded(const std::vector<float>& values) {
    std::vector<Bfloat16> shorts;
    for (const float value : values) shorts.push_back(round_to<Bfloat16>(value));
    return test::to_device<Space>(shorts);
  }
  static std::vector<float> floats(const Shorts& values) {
    std::vector<float> all;
    for (const Bfloat16 value : test::to_host(values)) all.push_back(to_float(value));
    return all;
  }

  /// encode(errors, words) with errors in float32 and in bf16 that start from the same numbers: the messages
  /// are the same, and so are the errors, but that these are rounded as the reference rounds.
  template <class Encode>
  static void equals_rounded_floats(const BlockMessage& message, const std::vector<std::uint32_t>& before,
                                    const Encode& encode) {
    const Shorts shorts = rounded(test::random_vector(n, 6));
    const Floats wide = test::to_device<Space>(floats(shorts));
    const Words<Space> words = test::to_device<Space>(before);
    const Words<Space> words_of_wide = test::to_device<Space>(before);
    encode(wide, words_of_wide);
    encode(Bfloat16Errors<Space>{shorts, rounding}, words);
    Kokkos::fence();
    EXPECT_EQ(test::to_host(words), test::to_host(words_of_wide));
    const std::vector<float> got = floats(shorts);
    std::vector<float> wanted = test::to_host(wide);
    for (std::int64_t b = 0; b < message.map().blocks; ++b) {
      const BlockMap::Block block = message.map().block(b);
      const reference::ByChance chance(rounding, block.first_element);
      for (std::int64_t k = 0; k < block.elements; ++k) {
        float& value = wanted[static_cast<std::size_t>(block.first_element + k)];
        value = chance.rounded(value, k);
      }
    }
    EXPECT_EQ(got, wanted);
  }
};
TYPED_TEST_SUITE(Bfloat16ErrorsTest, test::ExecutionSpaces);

TYPED_TEST(Bfloat16ErrorsTest, AreThoseInFloat32RoundedByChance) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = TestFixture::n;
  const TypeParam exec;
  const SignQuantiser code;
  const auto y = test::to_device<Space>(test::random_vector(n, 5));
  for (const std::int64_t block : {1, 50, 64, 2048}) {
    for (const bool with_inactive : {false, true}) {
      SCOPED_TRACE(testing::Message() << "block " << block << (with_inactive ? ", some inactive" : ""));
      const auto mask = test::mask_for<TypeParam>(n, with_inactive);
      const BlockMessage message(ChunkLayout(n, 3), block, 1, true);
      std::vector<std::uint32_t> before(message.total_bytes() / 4, 0U);
      TestFixture::equals_rounded_floats(message, before, [&](const auto& error, const Words<Space>& words) {
        encode_with_error_feedback(exec, code, message.map(), ElementOf<Space>{y}, mask, error, words);
        before = test::to_host(words);
      });
      TestFixture::equals_rounded_floats(message, before, [&](const auto& error, const Words<Space>& words) {
        using Input = ContinuedLoad<test::Continue<Space>, typename Space::memory_space>;
        encode_continued(exec, code, message.map(), Input{{y}, words}, mask, error, words);
      });
      const BlockMessage own(ChunkLayout(n, 1), block, 1, true);
      const auto stride = static_cast<std::int64_t>(own.total_bytes() / 4);
      const Words<Space> sent("sent", static_cast<std::size_t>(2 * stride));
      for (const std::int64_t rank : {0, 1}) {
        const auto input = test::to_device<Space>(test::random_vector(n, 20U + static_cast<unsigned>(rank)));
        const typename TestFixture::Floats error("error", static_cast<std::size_t>(n));
        const Words<Space> part =
            Kokkos::subview(sent, Kokkos::make_pair(rank * stride, (rank + 1) * stride));
        encode_with_error_feedback(exec, code, own.map(), ElementOf<Space>{input}, mask, error, part);
      }
      const std::vector<std::uint32_t> nothing(static_cast<std::size_t>(stride), 0U);
      TestFixture::equals_rounded_floats(own, nothing, [&](const auto& error, const Words<Space>& words) {
        reduce_and_encode(exec, code, own.map(), ConstWords<Space>(sent), 2, stride, mask, error, words);
      });
    }
  }
}

/// What small numbers add to a large error, step after step, is there in the mean: to the nearest, all of it
/// would be lost.
TYPED_TEST(Bfloat16ErrorsTest, KeepWhatIsSmallBesideThem) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 4096;
  const int steps = 1024;
  const float small = 0x1p-14F;
  const auto shorts = TestFixture::rounded(std::vector<float>(static_cast<std::size_t>(n), 1.0F));
  const auto y = test::to_device<Space>(std::vector<float>(static_cast<std::size_t>(n), small));
  const BlockMessage message(ChunkLayout(n, 1), 512, 1, true);
  const ActiveMask<Space> all;
  const Words<Space> words("words", message.total_bytes() / 4);
  for (int t = 0; t < steps; ++t) {
    encode_with_error_feedback(TypeParam{}, SayNothing{}, message.map(), ElementOf<Space>{y}, all,
                               Bfloat16Errors<Space>{shorts, static_cast<std::uint32_t>(t)}, words);
  }
  Kokkos::fence();
  double mean = 0.0;
  for (const float value : TestFixture::floats(shorts)) mean += static_cast<double>(value) / n;
  EXPECT_NEAR(mean, 1.0 + steps * static_cast<double>(small), 0.02 * steps * static_cast<double>(small));
}

}  // namespace
}  // namespace kadam
