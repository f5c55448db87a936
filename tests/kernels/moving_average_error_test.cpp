// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/moving_average_error.hpp>
#include <kadam/wire/block_message.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/block_code.hpp>
#include <reference/number_format.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace kadam {
namespace {

/// LoCo's encoder in plain loops, block after block in the order of a message, down to the bits of the codes.
struct PlainLoco {
  int bits = 4;
  std::int64_t block = 0;  ///< 0: one per chunk
  int chunks = 1;
  float scale = 1.0F;  ///< of the gradient
  std::vector<std::uint32_t> words = {};
  std::vector<std::uint8_t> codes = {};  ///< of the error
  std::vector<float> steps = {};

  static int levels(int of_bits) { return (1 << (of_bits - 1)) - 1; }
  static float step_of(float largest, int of_bits) {
    return reference::flushed(largest / static_cast<float>(levels(of_bits)));
  }
  static int code(float value, float step, int of_bits) {
    if (step == 0.0F) return 0;
    const auto most = static_cast<float>(levels(of_bits));
    return static_cast<int>(std::clamp(std::nearbyint(value / step), -most, most));
  }
  static float largest_of(const std::vector<float>& values) {
    float largest = 0.0F;
    for (const float value : values) largest = std::max(largest, std::fabs(value));
    return largest;
  }

  struct Range {
    std::int64_t begin;
    std::int64_t end;
  };
  [[nodiscard]] std::vector<Range> blocks(std::int64_t n) const {
    std::vector<Range> all;
    for (int j = 0; j < chunks; ++j) {
      const reference::Chunk chunk = reference::chunk_of(n, chunks, j);
      const std::int64_t length = block == 0 ? std::max<std::int64_t>(1, chunk.end - chunk.begin) : block;
      for (std::int64_t first = chunk.begin; first < chunk.end; first += length) {
        all.push_back({first, std::min(first + length, chunk.end)});
      }
    }
    return all;
  }

  [[nodiscard]] float error(std::size_t index, std::int64_t i) const {
    return static_cast<float>(static_cast<int>(codes[static_cast<std::size_t>(i)]) - levels(8)) *
           steps[index];
  }

  /// Blocks [first, last) of the vector; the words of all others are left as 0 in `words`.
  void encode(const std::vector<float>& gradient, const std::vector<bool>& active, std::size_t first,
              std::size_t last) {
    const auto all = blocks(static_cast<std::int64_t>(gradient.size()));
    words.clear();
    for (std::size_t index = 0; index < all.size(); ++index) {
      const std::int64_t count = all[index].end - all[index].begin;
      words.resize(words.size() + 1 + static_cast<std::size_t>((count * bits + 31) / 32), 0U);
      if (index >= first && index < last) encode_block(gradient, active, all[index], index);
    }
  }

 private:
  /// Its words are the last ones.
  void encode_block(const std::vector<float>& gradient, const std::vector<bool>& active, const Range& range,
                    std::size_t index) {
    const auto count = static_cast<std::size_t>(range.end - range.begin);
    const std::size_t scale_word = words.size() - 1 - (count * static_cast<std::size_t>(bits) + 31) / 32;
    std::vector<float> h(count, 0.0F);
    std::vector<float> e(count, 0.0F);
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = static_cast<std::size_t>(range.begin) + k;
      if (!active[i]) continue;
      e[k] = error(index, static_cast<std::int64_t>(i));
      h[k] = scale * gradient[i] + e[k];
    }
    const float step = step_of(largest_of(h), bits);
    words[scale_word] = std::bit_cast<std::uint32_t>(step);
    for (std::size_t k = 0; k < count; ++k) {
      const int q = code(h[k], step, bits);
      const std::size_t bit = k * static_cast<std::size_t>(bits);
      words[scale_word + 1 + bit / 32] |= static_cast<std::uint32_t>(q + levels(bits)) << (bit % 32);
      e[k] = 0.8F * e[k] + static_cast<float>(1.0 - 0.8) * (h[k] - static_cast<float>(q) * step);
    }
    steps[index] = step_of(largest_of(e), 8);
    for (std::size_t k = 0; k < count; ++k) {
      codes[static_cast<std::size_t>(range.begin) + k] =
          static_cast<std::uint8_t>(code(e[k], steps[index], 8) + levels(8));
    }
  }
};

TEST(PlainLoco, HandSized) {
  // beta_e = 0.8, e = 0, g = (0.7, 0.25): q = (0.7, 0.2), e <- (0, 0.01).
  PlainLoco loco{.block = 64, .codes = {127, 127}, .steps = {0.0F}};
  loco.encode({0.7F, 0.25F}, {true, true}, 0, 1);
  ASSERT_EQ(loco.words.size(), 2U);
  EXPECT_FLOAT_EQ(std::bit_cast<float>(loco.words[0]), 0.1F);
  EXPECT_EQ(loco.words[1], (7U + 7U) | (2U + 7U) << 4U);
  EXPECT_NEAR(loco.error(0, 0), 0.0, 1e-9);
  EXPECT_NEAR(loco.error(0, 1), 0.01, 1e-8);
}

enum class MaskOfCase : std::uint8_t { none, all_set, some };

/// Of every 2000 elements the first 1000 are active, of the others all but every seventh.
struct ActiveInHalves {
  KOKKOS_FUNCTION bool operator()(const std::int64_t i) const { return i % 2000 < 1000 || i % 7 != 2; }
};
struct AlwaysActive {
  KOKKOS_FUNCTION bool operator()(const std::int64_t /*i*/) const { return true; }
};

template <class Exec>
class MovingAverageErrorTest : public testing::Test {
 public:
  using Memory = typename Exec::memory_space;

  /// Its element `offset` is that of the vector's element 0.
  static ActiveMask<Memory> mask(MaskOfCase kind, std::int64_t n, std::int64_t offset) {
    if (kind == MaskOfCase::none) return {};
    const Kokkos::View<std::uint32_t*, Memory> words(
        "mask", static_cast<std::size_t>(ActiveMask<Memory>::words_for(n + offset)));
    if (kind == MaskOfCase::some) fill_active_mask(Exec{}, words, n + offset, ActiveInHalves{});
    if (kind == MaskOfCase::all_set) fill_active_mask(Exec{}, words, n + offset, AlwaysActive{});
    return {words, offset};
  }
  static std::vector<bool> active(MaskOfCase kind, std::int64_t n, std::int64_t offset) {
    std::vector<bool> result(static_cast<std::size_t>(n), true);
    for (std::int64_t i = 0; i < n; ++i) {
      result[static_cast<std::size_t>(i)] = kind != MaskOfCase::some || ActiveInHalves{}(i + offset);
    }
    return result;
  }

  struct OnDevice {
    ByteError<Memory> error;
    Words<Memory> words;
  };
  static OnDevice copy_of(const PlainLoco& plain) {
    return {{test::to_device<Memory>(plain.codes), test::to_device<Memory>(plain.steps)},
            test::to_device<Memory>(plain.words)};
  }
  static void expect_same(const OnDevice& got, const PlainLoco& wanted, const std::string& where) {
    Kokkos::fence();
    EXPECT_EQ(test::to_host(got.words), wanted.words) << "message, " << where;
    EXPECT_EQ(test::to_host(got.error.codes), wanted.codes) << "codes of the error, " << where;
    test::expect_same_numbers(test::to_host(got.error.steps), wanted.steps, "steps, " + where);
  }

  /// An error as if something had been encoded before, in blocks that are not all the same.
  static void fill_error(PlainLoco& plain, std::int64_t n) {
    plain.codes.clear();
    for (std::int64_t i = 0; i < n; ++i) plain.codes.push_back(static_cast<std::uint8_t>(i * 37 % 255));
    plain.steps.clear();
    for (std::size_t b = 0; b < plain.blocks(n).size(); ++b) {
      plain.steps.push_back(b % 5 == 3 ? 0.0F : 0.001F * static_cast<float>(b % 11));
    }
  }

  template <int Bits>
  static void encode_equals_plain_loops(std::int64_t n, std::int64_t block, MaskOfCase kind) {
    const std::int64_t offset = 37;
    PlainLoco plain{.bits = Bits, .block = block, .chunks = 3, .scale = 0.375F};
    fill_error(plain, n);
    const BlockMessage message(ChunkLayout(n, plain.chunks), block, Bits, true);
    plain.words.assign(message.total_bytes() / 4, 0U);
    const OnDevice got = copy_of(plain);
    const auto taking_part = active(kind, n, offset);
    for (std::int64_t t = 1; t <= 2; ++t) {
      const auto gradient = test::random_gradient(n, 0, t);
      plain.encode(gradient, taking_part, 0, plain.steps.size());
      encode_with_moving_average_error<Exec, Bits, Memory>(
          Exec{}, UniformQuantiser<Bits>{}, message.map(), test::to_device<Memory>(gradient), plain.scale,
          mask(kind, n, offset), got.error, Ema::make(0.8), got.words);
      expect_same(got, plain,
                  "bits " + std::to_string(Bits) + " n " + std::to_string(n) + " block " +
                      std::to_string(block) + " step " + std::to_string(t));
    }
  }

  template <int Bits>
  static void all_cases() {
    for (const std::int64_t n : {0, 1, 31, 32, 33, 1000}) {
      for (const std::int64_t block : {0, 1, 50, 64, 256, 2048}) {
        for (const MaskOfCase kind : {MaskOfCase::none, MaskOfCase::all_set, MaskOfCase::some}) {
          encode_equals_plain_loops<Bits>(n, block, kind);
        }
      }
    }
    encode_equals_plain_loops<Bits>((1 << 20) + 7, Bits == 4 ? 0 : 256, MaskOfCase::some);
    // Blocks that the mask leaves alone beside blocks that it does not; parts of a block's last tile.
    for (const std::int64_t block : {500, 600, 1000}) {
      encode_equals_plain_loops<Bits>(20001, block, MaskOfCase::some);
    }
  }
};
TYPED_TEST_SUITE(MovingAverageErrorTest, test::ExecutionSpaces);

TYPED_TEST(MovingAverageErrorTest, EncodingIsEquivalentToReferenceToTheLastBit) {
  TestFixture::template all_cases<2>();
  TestFixture::template all_cases<4>();
  TestFixture::template all_cases<8>();
}

TYPED_TEST(MovingAverageErrorTest, EncodesGradientsInAllFormats) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 5001;
  const auto gradient = test::random_gradient(n, 0, 1);
  test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
    PlainLoco plain{.block = 100, .chunks = 3, .scale = 0.375F};
    TestFixture::fill_error(plain, n);
    const BlockMessage message(ChunkLayout(n, 3), 100, 4, true);
    plain.words.assign(message.total_bytes() / 4, 0U);
    const auto got = TestFixture::copy_of(plain);
    plain.encode(values, std::vector<bool>(values.size(), true), 0, plain.steps.size());
    encode_with_moving_average_error<TypeParam, 4, Space>(TypeParam{}, UniformQuantiser<4>{}, message.map(),
                                                          numbers, plain.scale, ActiveMask<Space>{},
                                                          got.error, Ema::make(0.8), got.words);
    TestFixture::expect_same(got, plain, format);
  });
}

/// A slice of a chunk: the words, codes and steps of all other blocks stay as they are.
TYPED_TEST(MovingAverageErrorTest, EncodesSomeBlocksAndLeavesTheOthersAlone) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 5001;
  PlainLoco plain{.block = 100, .chunks = 3};
  const BlockMessage message(ChunkLayout(n, 3), 100, 4, true);
  const auto blocks = static_cast<std::size_t>(message.map().blocks);
  ASSERT_EQ(plain.blocks(n).size(), blocks);
  const auto gradient = test::random_gradient(n, 0, 1);
  for (const auto& [first, last] :
       {std::pair<std::size_t, std::size_t>{7, 20}, {16, 18}, {5, 5}, {blocks - 1, blocks}}) {
    TestFixture::fill_error(plain, n);
    plain.words.assign(message.total_bytes() / 4, 0U);
    const auto got = TestFixture::copy_of(plain);
    plain.encode(gradient, std::vector<bool>(gradient.size(), true), first, last);
    const BlockRange range(message.map(), static_cast<std::int64_t>(first), static_cast<std::int64_t>(last));
    encode_with_moving_average_error<TypeParam, 4, Space>(
        TypeParam{}, UniformQuantiser<4>{}, range, test::to_device<Space>(gradient), 1.0F,
        ActiveMask<Space>{}, got.error, Ema::make(0.8), got.words);
    TestFixture::expect_same(got, plain, "blocks from " + std::to_string(first));
  }
}

/// All that is left of an error is in its steps: when they are 0, its codes say nothing.
TYPED_TEST(MovingAverageErrorTest, AnErrorWhoseStepsAreZeroIsNoError) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 1000;
  const BlockMessage message(ChunkLayout(n, 1), 100, 4, true);
  PlainLoco plain{.block = 100};
  plain.words.assign(message.total_bytes() / 4, 0U);
  TestFixture::fill_error(plain, n);
  plain.steps.assign(plain.steps.size(), 0.0F);
  const auto got = TestFixture::copy_of(plain);
  plain.codes.assign(plain.codes.size(), 127);
  const Kokkos::View<float*, Space> values("values", static_cast<std::size_t>(n));
  Kokkos::deep_copy(values, -7.0F);
  decode_byte_error(TypeParam{}, message.map(), got.error, values);
  Kokkos::fence();
  for (const float value : test::to_host(values)) ASSERT_EQ(value, 0.0F);
  const auto gradient = test::random_gradient(n, 0, 1);
  plain.encode(gradient, std::vector<bool>(gradient.size(), true), 0, plain.steps.size());
  encode_with_moving_average_error<TypeParam, 4, Space>(
      TypeParam{}, UniformQuantiser<4>{}, message.map(), test::to_device<Space>(gradient), 1.0F,
      ActiveMask<Space>{}, got.error, Ema::make(0.8), got.words);
  TestFixture::expect_same(got, plain, "after a reset");
}

/// A step is as small as the smallest normal number, or 0.
TYPED_TEST(MovingAverageErrorTest, EncodesTheSmallestNumbers) {
  using Space = typename TypeParam::memory_space;
  const float least = std::numeric_limits<float>::min() / 8.0F;
  std::vector<float> gradient(256);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float size = i < 64 ? 56.0F : i < 128 ? 55.0F : i < 192 ? 7000.0F : 0.0F;
    gradient[i] = (i % 3 == 0 ? -least : least) * (i % 5 == 0 ? size : std::floor(size / 3.0F));
  }
  PlainLoco plain{.block = 64, .codes = std::vector<std::uint8_t>(256, 127), .steps = {0, 0, 0, 0}};
  const BlockMessage message(ChunkLayout(256, 1), 64, 4, true);
  plain.words.assign(message.total_bytes() / 4, 0U);
  const auto got = TestFixture::copy_of(plain);
  plain.encode(gradient, std::vector<bool>(256, true), 0, 4);
  const auto step = [&](std::size_t block) { return std::bit_cast<float>(plain.words[block * 9]); };
  EXPECT_EQ(step(0), std::numeric_limits<float>::min());
  EXPECT_EQ(step(1), 0.0F);
  EXPECT_GT(step(2), 100.0F * std::numeric_limits<float>::min());
  encode_with_moving_average_error<TypeParam, 4, Space>(
      TypeParam{}, UniformQuantiser<4>{}, message.map(), test::to_device<Space>(gradient), 1.0F,
      ActiveMask<Space>{}, got.error, Ema::make(0.8), got.words);
  TestFixture::expect_same(got, plain, "smallest numbers");
}

TYPED_TEST(MovingAverageErrorTest, AByteErrorIsDecodedAndEncodedAgain) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    for (const std::int64_t block : {0, 50, 256}) {
      if (n > 1000 && block != 256) continue;
      PlainLoco plain{.block = block, .chunks = 3};
      TestFixture::fill_error(plain, n);
      const BlockMessage message(ChunkLayout(n, 3), block, 4, true);
      const auto got = TestFixture::copy_of(plain);
      const std::string where = "n " + std::to_string(n) + " block " + std::to_string(block);

      std::vector<float> wanted(static_cast<std::size_t>(n));
      const auto blocks = plain.blocks(n);
      for (std::size_t index = 0; index < blocks.size(); ++index) {
        for (auto i = blocks[index].begin; i < blocks[index].end; ++i) {
          wanted[static_cast<std::size_t>(i)] = plain.error(index, i);
        }
      }
      const Kokkos::View<float*, Space> values("values", wanted.size());
      decode_byte_error(TypeParam{}, message.map(), got.error, values);
      Kokkos::fence();
      test::expect_same_numbers(test::to_host(values), wanted, where);

      // With its own steps: the same codes again, but for blocks whose step of 0 has forgotten them.
      for (std::size_t index = 0; index < blocks.size(); ++index) {
        if (plain.steps[index] != 0.0F) continue;
        for (auto i = blocks[index].begin; i < blocks[index].end; ++i) {
          plain.codes[static_cast<std::size_t>(i)] = 127;
        }
      }
      Kokkos::deep_copy(got.error.codes, std::uint8_t{3});
      encode_byte_error<TypeParam, Space>(TypeParam{}, message.map(), values, true, got.error);
      TestFixture::expect_same(got, plain, where + ", its steps");

      // With new ones, from other values.
      const auto others = test::random_vector(n, 5);
      for (std::size_t index = 0; index < blocks.size(); ++index) {
        const std::vector<float> of_block(others.begin() + blocks[index].begin,
                                          others.begin() + blocks[index].end);
        plain.steps[index] = PlainLoco::step_of(PlainLoco::largest_of(of_block), 8);
        for (std::size_t k = 0; k < of_block.size(); ++k) {
          plain.codes[static_cast<std::size_t>(blocks[index].begin) + k] =
              static_cast<std::uint8_t>(PlainLoco::code(of_block[k], plain.steps[index], 8) + 127);
        }
      }
      encode_byte_error<TypeParam, Space>(TypeParam{}, message.map(), test::to_device<Space>(others), false,
                                          got.error);
      TestFixture::expect_same(got, plain, where + ", new steps");
    }
  }
}

/// The mean of one chunk's messages of three ranks, summed in rank order, on some of its blocks.
TYPED_TEST(MovingAverageErrorTest, TheMeanOfMessagesIsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  constexpr int ranks = 3;
  for (const std::int64_t n : test::sizes) {
    for (const std::int64_t block : {0, 50, 256}) {
      if (n > 1000 && block != 256) continue;
      const BlockMessage message(ChunkLayout(n, 1), block, 4, true);
      const auto stride = static_cast<std::int64_t>(message.total_bytes() / 4) + 3;
      std::vector<std::uint32_t> received;
      std::vector<float> wanted(static_cast<std::size_t>(n), 0.0F);
      const std::vector<bool> active(wanted.size(), true);
      for (int rank = 0; rank < ranks; ++rank) {
        PlainLoco plain{.block = block, .codes = std::vector<std::uint8_t>(wanted.size(), 127)};
        plain.steps.assign(plain.blocks(n).size(), 0.0F);
        const auto gradient = test::random_gradient(n, rank, 1);
        plain.encode(gradient, active, 0, plain.steps.size());
        received.insert(received.end(), plain.words.begin(), plain.words.end());
        received.resize(static_cast<std::size_t>((rank + 1) * stride), 0xffffffffU);
        std::vector<float> q(wanted.size(), 0.0F);
        reference::quantise_chunk({.name = "uniform4", .block = block}, gradient, active, {0, n}, q);
        for (std::size_t i = 0; i < q.size(); ++i) wanted[i] += q[i];
      }
      for (float& value : wanted) value = value * static_cast<float>(1.0 / ranks) + 0.0F;
      const BlockMap map = message.map();
      const BlockRange some(map, map.blocks / 3, map.blocks - map.blocks / 4);
      std::vector<float> of_some(wanted.size(), -7.0F);
      for (std::int64_t b = some.first; b < some.last; ++b) {
        const auto place = map.block(b);
        for (std::int64_t k = 0; k < place.elements; ++k) {
          const auto i = static_cast<std::size_t>(place.first_element + k);
          of_some[i] = wanted[i];
        }
      }
      const auto out = test::to_device<Space>(std::vector<float>(wanted.size(), -7.0F));
      const ConstWords<Space> messages = test::to_device<Space>(received);
      decode_mean(TypeParam{}, UniformQuantiser<4>{}, some, messages, ranks, stride, out);
      Kokkos::fence();
      const std::string where = "n " + std::to_string(n) + " block " + std::to_string(block);
      test::expect_same_numbers(test::to_host(out), of_some, where + ", some blocks");
      decode_mean(TypeParam{}, UniformQuantiser<4>{}, map, messages, ranks, stride, out);
      Kokkos::fence();
      test::expect_same_numbers(test::to_host(out), wanted, where);
    }
  }
}

}  // namespace
}  // namespace kadam
