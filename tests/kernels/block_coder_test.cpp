// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
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
#include <limits>
#include <string>
#include <vector>

namespace kadam {
namespace {

TEST(BlockCodeReference, HandSized) {
  const std::vector<bool> all(2, true);
  EXPECT_NEAR(reference::quantise_block({.name = "sign"}, {3.0F, -4.0F}, all)[0], 3.5355339, 1e-6);
  EXPECT_EQ(reference::quantise_block({.name = "sign", .mean_abs = true}, {3.0F, -4.0F}, all),
            (std::vector<float>{3.5F, -3.5F}));
  const auto q = reference::quantise_block({.name = "uniform4"}, {0.75F, 0.25F, -0.26F}, {true, true, true});
  EXPECT_FLOAT_EQ(q[0], 0.75F);
  EXPECT_FLOAT_EQ(q[1], 2 * 0.75F / 7);  // 2.33 steps
  EXPECT_EQ(reference::quantise_block({.name = "uniform2"}, {0.0F, 0.0F}, all),
            (std::vector<float>{0.0F, 0.0F}));
  EXPECT_EQ(reference::quantise_block({.name = "float8"}, {448.0F, 0.3F, -0.003F}, {true, true, true}),
            (std::vector<float>{448.0F, 0.3125F, -0.00390625F}));  // 10/32; 2 of the smallest steps, 2^-9
  // s = sqrt(25/2), the border at 0.9816 s = 3.4705.
  const auto gauss = reference::quantise_block({.name = "gauss2"}, {3.0F, -4.0F, 9.0F}, {true, true, false});
  EXPECT_NEAR(gauss[0], 1.6008897, 1e-6);
  EXPECT_NEAR(gauss[1], -5.3400704, 1e-6);
  EXPECT_EQ(gauss[2], 0.0F);
}

template <class Space>
struct Store {
  Kokkos::View<float*, Space> out;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const float value) const { out(i) = value; }
};

/// Each code, and the reference's description of it.
template <class Function>
void for_each_pair(const Function& test) {
  test(SignQuantiser{SignScale::mean_abs}, reference::Code{.name = "sign", .mean_abs = true});
  for_each_code([&](const auto& code) { test(code, reference::Code{.name = std::string(code.name)}); });
}

/// An update with a rule for each segment: a factor, whose sign tells inactive elements.
struct ScaleOf {
  KOKKOS_FUNCTION float operator()(std::int64_t /*segment*/, const SegmentFactors& factors) const {
    return static_cast<float>(factors.lr_scale);
  }
};
template <class Space>
struct StoreScaled {
  Kokkos::View<float*, Space> out;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const float value, const float scale) const {
    out(i) = scale * value;
  }
  KOKKOS_FUNCTION void inactive(const std::int64_t i, const float scale) const { out(i) = -scale; }
};

template <class Exec>
class BlockCoderTest : public testing::Test {
 public:
  using Space = typename Exec::memory_space;
  using Floats = Kokkos::View<float*, Space>;

  static Words<Space> words_for(std::size_t bytes) { return Words<Space>("words", bytes / 4); }

  static std::vector<bool> active_for(std::int64_t n, bool with_inactive) {
    std::vector<bool> active(static_cast<std::size_t>(n), true);
    for (std::int64_t i = 0; i < n; ++i)
      active[static_cast<std::size_t>(i)] = !with_inactive || test::MostlyActive{}(i);
    return active;
  }
};
TYPED_TEST_SUITE(BlockCoderTest, test::ExecutionSpaces);

template <class Test, class Exec, class Q>
void encode_decode_equals_reference(const Q& quantiser, reference::Code code, std::int64_t n,
                                    bool with_inactive) {
  using Space = typename Exec::memory_space;
  const int ranks = 3;
  const ChunkLayout chunks(n, ranks);
  const BlockMessage message(chunks, code.block, Q::bits, Q::has_scale);
  const std::vector<float> y = test::random_vector(n, 5);
  const std::vector<float> e = test::random_vector(n, 6);
  const auto active = Test::active_for(n, with_inactive);
  std::vector<float> h(y.size(), 0.0F);
  for (std::size_t i = 0; i < h.size(); ++i) h[i] = active[i] ? y[i] + e[i] : 0.0F;
  std::vector<float> q(h.size(), 0.0F);
  for (int j = 0; j < ranks; ++j)
    reference::quantise_chunk(code, h, active, reference::chunk_of(n, ranks, j), q);

  const auto error = test::to_device<Space>(e);
  const auto words = Test::words_for(message.total_bytes());
  const auto mask = test::mask_for<Exec>(n, with_inactive);
  const Exec exec;
  encode_with_error_feedback(exec, quantiser, message.map(), ElementOf<Space>{test::to_device<Space>(y)},
                             mask, error, words);
  const Kokkos::View<float*, Space> decoded("decoded", static_cast<std::size_t>(n));
  const Store<Space> store{decoded};
  const ConstWords<Space> sent = words;
  decode_and_apply(exec, quantiser, message.map(), sent, mask, 0, n / 2, store);
  decode_and_apply(exec, quantiser, message.map(), sent, mask, n / 2, n, store);
  const auto segments = test::HostSegments::of(n);
  const std::vector<float> untouched(h.size(), -1.0F);
  const auto by_segment = test::to_device<Space>(untouched);
  decode_and_apply(exec, quantiser, message.map(), sent, mask, 0, n,
                   UpdateBySegment<Space, ScaleOf, StoreScaled<Space>>{
                       test::by_segment<Space>(segments, ScaleOf{}), {by_segment}});
  Kokkos::fence();
  const auto got = test::to_host(decoded);
  const auto kept = test::to_host(error);
  const auto on_host = test::to_host(words);
  const auto code_of = [&](const std::size_t i) {
    const auto element = static_cast<std::int64_t>(i);
    const BlockMap::Block its = message.map().block(message.map().block_of(element));
    constexpr std::int64_t width = detail::elements_per_word<Q>;
    const std::int64_t place = element - its.first_element;
    return detail::code_at<Q>(on_host[static_cast<std::size_t>(its.first_word + place / width)],
                              place % width);
  };
  const auto scaled = test::to_host(by_segment);
  segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
    const auto scale = static_cast<float>(segments.factors[static_cast<std::size_t>(segment)].lr_scale);
    ASSERT_EQ(scaled[i], active[i] ? scale * got[i] : -scale) << "n " << n << " element " << i;
  });
  for (std::size_t i = 0; i < h.size(); ++i) {
    const std::string where = "n " + std::to_string(n) + " block " + std::to_string(code.block) + " code " +
                              std::string(Q::name) + " element " + std::to_string(i);
    ASSERT_NEAR(got[i], q[i], 1e-6F * std::fabs(q[i])) << where;
    if (active[i]) {
      ASSERT_EQ(kept[i], h[i] - got[i]) << where;  // codec law: decode(encode(h)) + error = h
    } else {
      ASSERT_EQ(kept[i], 0.0F) << where;
      ASSERT_EQ(got[i], 0.0F) << where;
      ASSERT_EQ(code_of(i), 0U) << where;  // on CPU and GPU: their messages are equal bit for bit
    }
  }
}

TYPED_TEST(BlockCoderTest, EncodeAndDecodeAreEquivalentToReference) {
  for_each_pair([](const auto& quantiser, reference::Code code) {
    for (const std::int64_t n : {0, 1, 31, 32, 33, 1000, 20001}) {
      for (const std::int64_t block : {0, 50, 64, 2048}) {
        for (const bool with_inactive : {false, true}) {
          code.block = block;
          encode_decode_equals_reference<TestFixture, TypeParam>(quantiser, code, n, with_inactive);
        }
      }
    }
    code.block = 2048;
    encode_decode_equals_reference<TestFixture, TypeParam>(quantiser, code, (1 << 20) + 7, true);
  });
}

/// A block whose scale would be subnormal has a scale of 0, and keeps no error: its neighbours are as ever.
TYPED_TEST(BlockCoderTest, ABlockWithNextToNothingIsSentAsZeroAndLeavesNoError) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 20001;
  const float least = std::numeric_limits<float>::min();
  for (const std::int64_t block : {50, 2048}) {
    const auto is_tiny = [&](const std::size_t i) { return (static_cast<std::int64_t>(i) / block) % 2 == 1; };
    std::vector<float> y = test::random_vector(n, 5);
    std::vector<float> e = test::random_vector(n, 6);
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (!is_tiny(i)) continue;
      y[i] = i % 3 == 0 ? 0.5F * least : -0.25F * least;
      e[i] = i % 5 == 0 ? 0.0F : 0.25F * least;
    }
    for (const bool with_inactive : {false, true}) {
      for_each_pair([&](const auto& quantiser, const reference::Code&) {
        using Q = std::decay_t<decltype(quantiser)>;
        const BlockMessage message(ChunkLayout(n, 1), block, Q::bits, Q::has_scale);
        const auto mask = test::mask_for<TypeParam>(n, with_inactive);
        const auto error = test::to_device<Space>(e);
        const auto words = TestFixture::words_for(message.total_bytes());
        encode_with_error_feedback(TypeParam{}, quantiser, message.map(),
                                   ElementOf<Space>{test::to_device<Space>(y)}, mask, error, words);
        const Kokkos::View<float*, Space> decoded("decoded", static_cast<std::size_t>(n));
        decode_and_apply(TypeParam{}, quantiser, message.map(), ConstWords<Space>(words), mask, 0, n,
                         Store<Space>{decoded});
        Kokkos::fence();
        const auto got = test::to_host(decoded);
        const auto kept = test::to_host(error);
        const auto active = TestFixture::active_for(n, with_inactive);
        for (std::size_t i = 0; i < got.size(); ++i) {
          const float wanted = is_tiny(i) || !active[i] ? 0.0F : y[i] + e[i] - got[i];
          ASSERT_EQ(kept[i], wanted) << Q::name << " block " << block << " element " << i;
          if (is_tiny(i)) {
            ASSERT_EQ(got[i], 0.0F) << Q::name << " block " << block << " element " << i;
          }
        }
      });
    }
  }
}

/// With the message itself as what was said before, and with that as a vector: the same bits.
template <class Test, class Exec, class Q>
void continuing_equals_decoding_first(const Q& quantiser, std::int64_t block, bool with_inactive) {
  using Space = typename Exec::memory_space;
  const std::int64_t n = 5001;
  const BlockMessage message(ChunkLayout(n, 3), block, Q::bits, Q::has_scale);
  const auto mask = test::mask_for<Exec>(n, with_inactive);
  const auto y = test::to_device<Space>(test::random_vector(n, 5));
  const Exec exec;
  const auto error = test::to_device<Space>(test::random_vector(n, 6));
  const auto words = Test::words_for(message.total_bytes());
  encode_with_error_feedback(exec, quantiser, message.map(), ElementOf<Space>{y}, mask, error, words);

  const Kokkos::View<float*, Space> input("input", static_cast<std::size_t>(n));
  decode_and_apply(exec, quantiser, message.map(), ConstWords<Space>(words), mask, 0, n, Store<Space>{input});
  auto on_host = test::to_host(input);
  const auto y_on_host = test::to_host(y);
  for (std::size_t i = 0; i < on_host.size(); ++i) on_host[i] = 0.5F * on_host[i] + y_on_host[i];
  const auto other_error = test::to_device<Space>(test::to_host(error));
  const auto other_words = Test::words_for(message.total_bytes());
  encode_with_error_feedback(exec, quantiser, message.map(),
                             ElementOf<Space>{test::to_device<Space>(on_host)}, mask, other_error,
                             other_words);

  using Input = ContinuedLoad<test::Continue<Space>, typename Space::memory_space>;
  encode_continued(exec, quantiser, message.map(), Input{{y}, words}, mask, error, words);
  Kokkos::fence();
  EXPECT_EQ(test::to_host(words), test::to_host(other_words)) << "bits " << Q::bits << " block " << block;
  EXPECT_EQ(test::to_host(error), test::to_host(other_error)) << "bits " << Q::bits << " block " << block;
}

TYPED_TEST(BlockCoderTest, AnInputThatGoesOnFromTheMessageIsThatOfTheDecodedVector) {
  for (const std::int64_t block : {0, 50, 2048}) {
    for (const bool with_inactive : {false, true}) {
      for_each_pair([&](const auto& quantiser, const reference::Code&) {
        continuing_equals_decoding_first<TestFixture, TypeParam>(quantiser, block, with_inactive);
      });
      continuing_equals_decoding_first<TestFixture, TypeParam>(IdentityQuantiser{}, block, with_inactive);
    }
  }
}

/// An input with a rule for each segment: the same bits as from the vector that it makes.
template <class Space>
struct ContinueScaled {
  test::Continue<Space> load;
  KOKKOS_FUNCTION float operator()(const std::int64_t i, const float before, const float scale) const {
    return scale * load(i, before);
  }
};

TYPED_TEST(BlockCoderTest, AnInputBySegmentsIsThatOfEachSegment) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t n = 20001;
  const auto segments = test::HostSegments::of(n);
  const SignQuantiser quantiser;
  for (const std::int64_t block : {0, 50, 2048}) {
    for (const bool with_inactive : {false, true}) {
      const BlockMessage message(ChunkLayout(n, 3), block, SignQuantiser::bits, SignQuantiser::has_scale);
      const auto mask = test::mask_for<TypeParam>(n, with_inactive);
      const auto y = test::to_device<Space>(test::random_vector(n, 5));
      const TypeParam exec;
      const auto error = test::to_device<Space>(test::random_vector(n, 6));
      const auto words = TestFixture::words_for(message.total_bytes());
      encode_with_error_feedback(exec, quantiser, message.map(), ElementOf<Space>{y}, mask, error, words);

      const Kokkos::View<float*, Space> said("said", static_cast<std::size_t>(n));
      decode_and_apply(exec, quantiser, message.map(), ConstWords<Space>(words), mask, 0, n,
                       Store<Space>{said});
      auto input = test::to_host(said);
      const auto y_on_host = test::to_host(y);
      segments.for_each_element([&](const std::int64_t segment, const std::size_t i) {
        const auto scale = static_cast<float>(segments.factors[static_cast<std::size_t>(segment)].lr_scale);
        input[i] = scale * (0.5F * input[i] + y_on_host[i]);
      });
      const auto other_error = test::to_device<Space>(test::to_host(error));
      const auto other_words = TestFixture::words_for(message.total_bytes());
      encode_with_error_feedback(exec, quantiser, message.map(),
                                 ElementOf<Space>{test::to_device<Space>(input)}, mask, other_error,
                                 other_words);

      using Load = LoadBySegment<Space, ScaleOf, ContinueScaled<Space>>;
      encode_continued(
          exec, quantiser, message.map(),
          ContinuedLoad<Load, Space>{{test::by_segment<Space>(segments, ScaleOf{}), {{y}}}, words}, mask,
          error, words);
      Kokkos::fence();
      EXPECT_EQ(test::to_host(words), test::to_host(other_words)) << "block " << block;
      EXPECT_EQ(test::to_host(error), test::to_host(other_error)) << "block " << block;
    }
  }
}

#ifdef KOKKOS_ENABLE_SERIAL
template <class Exec, class Q>
std::vector<std::uint32_t> encoded_by(const Q& quantiser, const BlockMessage& message, std::int64_t n) {
  using Space = typename Exec::memory_space;
  const Words<Space> words("words", message.total_bytes() / 4);
  const auto error = test::to_device<Space>(test::random_vector(n, 6));
  encode_with_error_feedback(Exec{}, quantiser, message.map(),
                             ElementOf<Space>{test::to_device<Space>(test::random_vector(n, 5))},
                             ActiveMask<Space>{}, error, words);
  Kokkos::fence();
  return test::to_host(words);
}

/// A team and a thread make the same message; but the order of the sum behind the scale of a sign or of
/// gauss2 is the team's own.
TYPED_TEST(BlockCoderTest, AMessageIsThatOfOneThread) {
  for_each_pair([](const auto& quantiser, const reference::Code&) {
    using Q = std::decay_t<decltype(quantiser)>;
    for (const std::int64_t block : {50, 2048, 5000}) {
      const std::int64_t n = 20001;
      const BlockMessage message(ChunkLayout(n, 3), block, Q::bits, Q::has_scale);
      auto got = encoded_by<TypeParam>(quantiser, message, n);
      auto expected = encoded_by<Kokkos::Serial>(quantiser, message, n);
      if (!Q::reduces_by_max) {
        for (std::int64_t b = 0; b < message.map().blocks; ++b) {
          const auto at = static_cast<std::size_t>(message.map().block(b).scale_word);
          const auto scale = Kokkos::bit_cast<float>(expected[at]);
          EXPECT_NEAR(Kokkos::bit_cast<float>(got[at]), scale, 1.2e-7F * scale) << Q::name << " block " << b;
          got[at] = expected[at];
        }
      }
      EXPECT_EQ(got, expected) << Q::name << " block " << block;
    }
  });
}
#endif

TYPED_TEST(BlockCoderTest, ReduceIsEquivalentToReference) {
  using Memory = typename TypeParam::memory_space;
  for_each_pair([](const auto& quantiser, reference::Code code) {
    using Q = std::decay_t<decltype(quantiser)>;
    const int ranks = 5;
    const std::int64_t n = 3001;
    code.block = 256;
    const BlockMessage message(ChunkLayout(n, 1), code.block, Q::bits, Q::has_scale);
    const auto bytes = message.total_bytes();
    const auto stride = static_cast<std::int64_t>(bytes / 4);
    const auto active = TestFixture::active_for(n, true);
    const auto mask = test::mask_for<TypeParam>(n, true);
    const auto received = TestFixture::words_for(bytes * static_cast<std::size_t>(ranks));
    const TypeParam exec;

    std::vector<float> p(static_cast<std::size_t>(n), 0.0F);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto y = test::random_vector(n, 40U + static_cast<unsigned>(rank));
      const Kokkos::View<float*, Memory> error("error", static_cast<std::size_t>(n));
      const Words<Memory> one =
          Kokkos::subview(received, Kokkos::make_pair(rank * stride, (rank + 1) * stride));
      encode_with_error_feedback(exec, quantiser, message.map(),
                                 ElementOf<Memory>{test::to_device<Memory>(y)}, mask, error, one);
      std::vector<float> h = y;
      for (std::size_t i = 0; i < h.size(); ++i) h[i] = active[i] ? h[i] : 0.0F;
      std::vector<float> q(h.size(), 0.0F);
      reference::quantise_chunk(code, h, active, {0, n}, q);
      for (std::size_t i = 0; i < p.size(); ++i) p[i] += q[i];
    }
    const auto e = test::random_vector(n, 9);
    for (std::size_t i = 0; i < p.size(); ++i)
      p[i] = active[i] ? p[i] * static_cast<float>(1.0 / ranks) + e[i] : 0.0F;

    const auto server_error = test::to_device<Memory>(e);
    const auto reply = TestFixture::words_for(bytes);
    reduce_and_encode(exec, quantiser, message.map(), ConstWords<Memory>(received), ranks, stride, mask,
                      server_error, reply);
    const Kokkos::View<float*, Memory> decoded("decoded", static_cast<std::size_t>(n));
    decode_and_apply(exec, quantiser, message.map(), ConstWords<Memory>(reply), mask, 0, n,
                     Store<Memory>{decoded});
    Kokkos::fence();
    const auto got = test::to_host(decoded);
    const auto kept = test::to_host(server_error);
    for (std::size_t i = 0; i < p.size(); ++i) {
      // What the reply says and what it leaves out make up p.
      ASSERT_NEAR(got[i] + kept[i], p[i], 1e-5F * (1.0F + std::fabs(p[i])))
          << "bits " << Q::bits << " element " << i;
    }
  });
}

/// But for subnormal numbers, which are flushed to zero.
TYPED_TEST(BlockCoderTest, TheIdentityCodeIsExact) {
  using Memory = typename TypeParam::memory_space;
  const std::int64_t n = 1000;
  const BlockMessage message(ChunkLayout(n, 1), 2048, 32, false);
  const auto y = test::random_vector(n, 5);
  const Kokkos::View<float*, Memory> error("error", static_cast<std::size_t>(n));
  const auto words = TestFixture::words_for(message.total_bytes());
  const Kokkos::View<float*, Memory> decoded("decoded", static_cast<std::size_t>(n));
  const ActiveMask<Memory> all;
  encode_with_error_feedback(TypeParam{}, IdentityQuantiser{}, message.map(),
                             ElementOf<Memory>{test::to_device<Memory>(y)}, all, error, words);
  decode_and_apply(TypeParam{}, IdentityQuantiser{}, message.map(), ConstWords<Memory>(words), all, 0, n,
                   Store<Memory>{decoded});
  auto wanted = y;
  for (float& value : wanted) value = reference::flushed(value);
  EXPECT_NE(wanted, y);
  EXPECT_EQ(test::to_host(decoded), wanted);
  EXPECT_EQ(test::to_host(error), std::vector<float>(1000, 0.0F));
}

TYPED_TEST(BlockCoderTest, NegativeZeroIsSentAsPlus) {
  using Memory = typename TypeParam::memory_space;
  const BlockMessage message(ChunkLayout(4, 1), 64, 1, true);
  const auto y = test::to_device<Memory>(std::vector<float>{-0.0F, 2.0F, -2.0F, 0.0F});
  const Kokkos::View<float*, Memory> error("error", 4);
  const auto words = TestFixture::words_for(message.total_bytes());
  // The error is added first: -0 + -0 stays -0.
  Kokkos::deep_copy(error, -0.0F);
  encode_with_error_feedback(TypeParam{}, SignQuantiser{}, message.map(), ElementOf<Memory>{y},
                             ActiveMask<Memory>{}, error, words);
  EXPECT_EQ(test::to_host(words)[1], 0b1011U);
}

}  // namespace
}  // namespace kadam
