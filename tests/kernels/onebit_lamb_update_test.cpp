// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/onebit_lamb_update.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/wire/block_message.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace kadam {
namespace {

/// A tensor that is made to take one way through the rule of the ratio.
struct TensorCase {
  std::string what;
  std::int64_t elements;
  float
      quotient;  ///< the largest of its roots of v over those of w, at its last element; 0: v = 0 everywhere
  float lambda;
  float ratio;          ///< before
  double expected;      ///< afterwards; NaN: ask the plain loops alone
  float x_size = 1.0F;  ///< of the parameters; their sign is that of m ...
  float m_size = 1.0F;
  bool opposed = false;  ///< ... or the other one
};

constexpr double by_loops = std::numeric_limits<double>::quiet_NaN();

const std::vector<TensorCase>& tensor_cases() {
  static const std::vector<TensorCase> all = {
      {"may grow by a tenth", 1025, 2.0F, 0.0F, 1.0F, 1.1},
      {"may shrink by a tenth", 3000, 0.6F, 0.0F, 1.0F, 0.9},
      {"is empty", 0, 1.0F, 0.1F, 1.05F, 1.0},
      {"goes where it wants", 31, 1.05F, 0.0F, 1.0F, 1.05},
      {"goes where it wants, downwards", 2049, 0.95F, 0.0F, 1.0F, 0.95},
      {"is not above the largest ratio", 1024, 10.0F, 0.0F, 3.9F, 4.0},
      {"is not below the smallest ratio", 5000, 0.1F, 0.0F, 0.52F, 0.5},
      {"is inactive", 1500, 0.0F, 0.0F, 1.05F, 1.0},
      {"is empty as well", 0, 1.0F, 0.0F, 5.0F, 4.5},
      {"has one element", 1, 1.02F, 0.0F, 1.0F, 1.02},
      {"decays", 4000, 1.6F, 0.5F, 1.5F, by_loops, 10.0F},
      {"decays against its direction", 1100, 1.08F, 0.5F, 1.0F, 1.08, 0.1F, 1.0F, true},
      {"decays and has neither parameters nor momentum", 1300, 1.03F, 0.5F, 1.0F, 1.03, 0.0F, 0.0F},
      {"decays and has no momentum", 70, 3.0F, 0.5F, 1.03F, 1.0, 1.0F, 0.0F},
      {"is long", 1000000, 1.07F, 0.0F, 1.0F, 1.07},
  };
  return all;
}

constexpr float lamb_eps = 1e-3F;

/// The vectors of a model with these tensors, some elements before the first and some behind the last.
struct LambModel {
  std::vector<std::int64_t> ends = {5};
  std::vector<float> x;
  std::vector<float> m;
  std::vector<float> v;
  std::vector<float> fresh;
  std::vector<float> lambda;
  std::vector<float> ratio;

  LambModel() {
    for (const TensorCase& tensor : tensor_cases()) {
      ends.push_back(ends.back() + tensor.elements);
      lambda.push_back(tensor.lambda);
      ratio.push_back(tensor.ratio);
    }
    const std::int64_t n = ends.back() + 3;
    x = test::random_vector(n, 1);
    m = test::random_vector(n, 2);
    v = test::random_variance(n, 3);
    fresh = v;
    for (std::size_t k = 0; k < tensor_cases().size(); ++k) shape(k);
  }

  [[nodiscard]] std::size_t first(std::size_t k) const { return static_cast<std::size_t>(ends[k]); }
  [[nodiscard]] std::size_t last(std::size_t k) const { return static_cast<std::size_t>(ends[k + 1]); }

 private:
  void shape(std::size_t k) {
    const TensorCase& its = tensor_cases()[k];
    for (std::size_t i = first(k); i < last(k); ++i) {
      if (its.quotient == 0.0F) v[i] = 0.0F;
      if (v[i] == 0.0F) m[i] = 0.0F;  // inactive: nothing was sent
      m[i] *= its.m_size;
      // One quotient at the end of the last tile is the largest; that of inactive elements would be 1, or
      // more.
      const float root = (std::sqrt(v[i]) + lamb_eps) / (its.quotient * 0.9F) - lamb_eps;
      fresh[i] = v[i] > 0.0F ? std::max(root, 0.0F) * std::max(root, 0.0F) : 0.0F;
      // x has the direction's size or less, so that what it adds has a sign of our choice.
      const float p = m[i] / (std::sqrt(v[i]) + lamb_eps);
      x[i] = its.x_size * (its.opposed ? -p : std::fabs(x[i]) * std::copysign(1.0F, p));
    }
    if (its.elements == 0 || its.quotient == 0.0F) return;
    const std::size_t i = last(k) - 1;
    v[i] = 4.0F;
    const float root = (2.0F + lamb_eps) / its.quotient - lamb_eps;
    fresh[i] = root * root;
  }
};

/// r of a tensor, in plain loops over its elements.
double plain_ratio(const LambModel& model, std::size_t k, const OnebitLambStep& rule) {
  double p_squared = 0.0;
  double u_squared = 0.0;
  double wanted = 0.0;
  for (std::size_t i = model.first(k); i < model.last(k); ++i) {
    const float root = std::sqrt(model.v[i]) + rule.eps;
    const float p = model.m[i] / root;
    const auto u = static_cast<double>(p + model.lambda[k] * model.x[i]);
    p_squared += static_cast<double>(p) * static_cast<double>(p);
    u_squared += u * u;
    const float quotient = root / (std::sqrt(model.fresh[i]) + rule.eps);
    if (model.v[i] > 0.0F) wanted = std::max(wanted, static_cast<double>(quotient));
  }
  if (wanted == 0.0) wanted = 1.0;
  if (model.lambda[k] > 0.0F && u_squared > 0.0) {
    const double q = std::min(1.0, std::sqrt(p_squared / u_squared));
    wanted = wanted * q + 1.0 - q;
  }
  wanted = std::clamp(wanted, rule.ratio_min, rule.ratio_max);
  const auto before = static_cast<double>(model.ratio[k]);
  return std::clamp(wanted, (1.0 - rule.ratio_change) * before, (1.0 + rule.ratio_change) * before);
}

/// Messages of a vector in three chunks, in blocks that tensors do not begin with.
constexpr std::int64_t block = 100;

BlockMap map_of(std::size_t elements, int bits, bool has_scale) {
  return BlockMessage(ChunkLayout(static_cast<std::int64_t>(elements), 3), block, bits, has_scale).map();
}
std::size_t words_of(const BlockMap& map) {
  return static_cast<std::size_t>(map.blocks * (map.scale_words + map.words_per_block));
}

/// The message that says sigma m of each tensor; of tensors kept dense it says something else.
std::vector<std::uint32_t> exact_message(const LambModel& model, const std::vector<float>& sigma,
                                         const std::vector<std::uint8_t>& kept) {
  const BlockMap map = map_of(model.m.size(), 32, false);
  std::vector<std::uint32_t> words(words_of(map), 0);
  for (std::size_t k = 0; k < sigma.size(); ++k) {
    for (std::size_t i = model.first(k); i < model.last(k); ++i) {
      const auto element = static_cast<std::int64_t>(i);
      const BlockMap::Block in = map.block(map.block_of(element));
      words[static_cast<std::size_t>(in.first_word + element - in.first_element)] =
          std::bit_cast<std::uint32_t>(kept[k] != 0 ? 1e3F : sigma[k] * model.m[i]);
    }
  }
  return words;
}

/// Any signs, and scales that differ from block to block.
struct SignMessage {
  BlockMap map;
  std::vector<std::uint32_t> words;

  SignMessage(std::size_t elements, std::uint32_t seed)
      : map(map_of(elements, 1, true)), words(words_of(map)) {
    std::uint32_t state = seed;
    for (std::uint32_t& word : words) word = state = 1664525U * state + 1013904223U;
    for (std::int64_t b = 0; b < map.blocks; ++b) {
      words[static_cast<std::size_t>(map.block(b).scale_word)] =
          std::bit_cast<std::uint32_t>(0.5F + 0.01F * static_cast<float>(b % 37));
    }
  }
  /// Element i.
  [[nodiscard]] float said(std::size_t i) const {
    const auto element = static_cast<std::int64_t>(i);
    const BlockMap::Block in = map.block(map.block_of(element));
    const auto k = static_cast<std::uint64_t>(element - in.first_element);
    const auto scale = std::bit_cast<float>(words[static_cast<std::size_t>(in.scale_word)]);
    const std::uint32_t word = words[static_cast<std::size_t>(in.first_word) + k / 32];
    return ((word >> (k % 32)) & 1U) != 0 ? scale : -scale;
  }
};

/// A fresh variance that stays what it is.
OnebitLambStep rule_without_average() {
  return {FreshVariance::make(0.9, 1.0), lamb_eps, 0.01F, 0.5, 4.0, 0.1};
}

template <class Exec>
class OnebitLambUpdateTest : public testing::Test {
 public:
  using Memory = typename Exec::memory_space;
  using Floats = Kokkos::View<float*, Memory>;

  const LambModel tensors_of_cases;
  const std::size_t tensor_count = tensor_cases().size();
  const TensorTiles<Memory> tiles = TensorTiles<Memory>::make(tensors_of_cases.ends);
  const Kokkos::View<double*, Memory> partial =
      test::to_device<Memory>(std::vector<double>(3 * static_cast<std::size_t>(tiles.tile_count()), -7.0));
  const OnebitLambTensors<Memory> frozen{
      test::to_device<Memory>(factors(tensor_count, 0.5F)), Floats("c", tensor_count),
      test::to_device<Memory>(tensors_of_cases.ratio), partial, test::to_device<Memory>(kept(tensor_count))};
  const LambTensors<Memory> tensors{Floats("lr_scale", tensor_count),
                                    test::to_device<Memory>(tensors_of_cases.lambda),
                                    Floats("phi", tensor_count), Kokkos::View<double*, Memory>{}};

  /// Every fourth tensor is kept dense.
  static std::vector<std::uint8_t> kept(std::size_t count) {
    std::vector<std::uint8_t> is_kept(count, 0);
    for (std::size_t k = 3; k < count; k += 4) is_kept[k] = 1;
    return is_kept;
  }
  /// Different for all tensors.
  static std::vector<float> factors(std::size_t count, float first) {
    std::vector<float> values;
    for (std::size_t k = 0; k < count; ++k) values.push_back(first + 0.25F * static_cast<float>(k));
    return values;
  }
};
TYPED_TEST_SUITE(OnebitLambUpdateTest, test::ExecutionSpaces);

/// Of tensors kept dense from m, of others from the message.
TYPED_TEST(OnebitLambUpdateTest, RatiosAreEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  const LambModel& model = this->tensors_of_cases;
  const OnebitLambStep rule = rule_without_average();
  const auto words = test::to_device<Space>(exact_message(
      model, TestFixture::factors(this->tensor_count, 0.5F), TestFixture::kept(this->tensor_count)));
  const OnebitLambMomentum<IdentityQuantiser, Space> momentum{
      {{}, map_of(model.m.size(), 32, false), words}, {}, test::to_device<Space>(model.m)};
  const Kokkos::View<const float*, Space> x = test::to_device<Space>(model.x);
  const Kokkos::View<const float*, Space> v = test::to_device<Space>(model.v);
  onebit_lamb_ratios(TypeParam{}, rule, this->tiles, this->tensors, this->frozen, momentum, x, v,
                     test::to_device<Space>(model.fresh));
  Kokkos::fence();
  const auto got = test::to_host(this->frozen.ratio);
  for (std::size_t k = 0; k < got.size(); ++k) {
    const TensorCase& its = tensor_cases()[k];
    const double wanted = plain_ratio(model, k, rule);
    EXPECT_NEAR(got[k], wanted, 1e-6) << its.what;
    if (!std::isnan(its.expected)) {
      EXPECT_NEAR(got[k], its.expected, 1e-6) << its.what;
    } else {
      // Not stopped by any limit: the norms decide.
      EXPECT_GT(wanted, 0.91 * static_cast<double>(its.ratio)) << its.what;
      EXPECT_LT(wanted, 1.09 * static_cast<double>(its.ratio)) << its.what;
      EXPECT_GT(std::fabs(wanted - static_cast<double>(its.quotient)), 0.02) << its.what;
    }
  }
}

/// Sums go over tiles of one tensor alone; the third place of a tile is somebody else's.
TYPED_TEST(OnebitLambUpdateTest, MomentumNormsAreEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  const LambModel& model = this->tensors_of_cases;
  momentum_norms<TypeParam, Space>(TypeParam{}, this->tiles, test::to_device<Space>(model.m),
                                   test::to_device<Space>(model.v), this->partial);
  Kokkos::fence();
  const auto got = test::to_host(this->partial);
  constexpr auto length = static_cast<std::size_t>(TensorTiles<Space>::tile_elements);
  std::size_t tile = 0;
  for (std::size_t k = 0; k < this->tensor_count; ++k) {
    for (std::size_t begin = model.first(k); begin < model.last(k); begin += length, ++tile) {
      double squares = 0.0;
      double active = 0.0;
      for (std::size_t i = begin; i < std::min(begin + length, model.last(k)); ++i) {
        squares += static_cast<double>(model.m[i]) * static_cast<double>(model.m[i]);
        active += model.v[i] > 0.0F ? 1.0 : 0.0;
      }
      ASSERT_NEAR(got[3 * tile], squares, 1e-12 * squares) << tensor_cases()[k].what;
      ASSERT_EQ(got[3 * tile + 1], active) << tensor_cases()[k].what;
      ASSERT_EQ(got[3 * tile + 2], -7.0);
    }
  }
  EXPECT_EQ(3 * tile, got.size());
}

/// What lies outside of all tensors stays as it is.
TYPED_TEST(OnebitLambUpdateTest, ScaledMomentumIsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  const LambModel& model = this->tensors_of_cases;
  const auto sigma = TestFixture::factors(this->tensor_count, 0.5F);
  const auto n = static_cast<std::int64_t>(model.m.size());
  const auto gradient = test::random_gradient(n, 0, 1);
  test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
    std::vector<float> wanted = test::vector_with_nan(n, 4);
    const auto target = test::to_device<Space>(wanted);
    for (std::size_t k = 0; k < sigma.size(); ++k) {
      for (std::size_t i = model.first(k); i < model.last(k); ++i) {
        const float g = 0.375F * values[i];
        wanted[i] += sigma[k] * (0.9F * model.m[i] + static_cast<float>(1.0 - 0.9) * g);
      }
    }
    add_scaled_momentum<TypeParam, Space>(TypeParam{}, this->tiles, this->frozen, Ema::make(0.9), 0.375F,
                                          test::to_device<Space>(model.m), numbers, target);
    Kokkos::fence();
    test::expect_same_numbers(test::to_host(target), wanted, format);
  });
}

/// m before the step is in a message, or, before the first exchange, in m.
TYPED_TEST(OnebitLambUpdateTest, TheFreshVarianceIsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  const LambModel& model = this->tensors_of_cases;
  const std::size_t n = model.m.size();
  const OnebitLambStep rule{FreshVariance::make(0.9, 0.99), lamb_eps, 0.01F, 0.5, 4.0, 0.1};
  const auto sigma = TestFixture::factors(this->tensor_count, 0.5F);
  const auto kept = TestFixture::kept(this->tensor_count);
  const SignMessage after(n, 1);
  const SignMessage before(n, 2);
  const Kokkos::View<const float*, Space> x = test::to_device<Space>(model.x);
  const Kokkos::View<const float*, Space> v = test::to_device<Space>(model.v);
  const ConstWords<Space> before_words = test::to_device<Space>(before.words);
  for (const bool has_message_before : {true, false}) {
    std::vector<float> wanted = model.fresh;
    for (std::size_t k = 0; k < sigma.size(); ++k) {
      if (kept[k] != 0) continue;
      const float inverse = 1.0F / sigma[k];
      for (std::size_t i = model.first(k); i < model.last(k); ++i) {
        if (model.v[i] == 0.0F) continue;
        const float m = has_message_before ? inverse * before.said(i) : model.m[i];
        const float g = (inverse * after.said(i) - 0.9F * m) * static_cast<float>(1.0 / (1.0 - 0.9));
        wanted[i] = 0.99F * wanted[i] + static_cast<float>(1.0 - 0.99) * (g * g);
      }
    }
    const OnebitLambMomentum<SignQuantiser, Space> momentum{
        {{}, after.map, test::to_device<Space>(after.words)},
        has_message_before ? before_words : ConstWords<Space>{},
        test::to_device<Space>(model.m)};
    const auto fresh = test::to_device<Space>(model.fresh);
    onebit_lamb_ratios(TypeParam{}, rule, this->tiles, this->tensors, this->frozen, momentum, x, v, fresh);
    Kokkos::fence();
    test::expect_same_numbers(test::to_host(fresh), wanted, has_message_before ? "message" : "m");
  }
}

TYPED_TEST(OnebitLambUpdateTest, TheUpdateIsEquivalentToReference) {
  using Space = typename TypeParam::memory_space;
  const LambModel& model = this->tensors_of_cases;
  const OnebitLambStep rule = rule_without_average();
  const auto lr_scale = TestFixture::factors(this->tensor_count, 0.0F);
  const auto trust = TestFixture::factors(this->tensor_count, 2.0F);
  const auto sigma = TestFixture::factors(this->tensor_count, 0.5F);
  const auto kept = TestFixture::kept(this->tensor_count);
  Kokkos::deep_copy(this->tensors.lr_scale, test::to_device<Space>(lr_scale));
  Kokkos::deep_copy(this->frozen.trust_ratio, test::to_device<Space>(trust));
  const SignMessage after(model.m.size(), 1);
  std::vector<float> wanted = model.x;
  for (std::size_t k = 0; k < trust.size(); ++k) {
    const float step = 0.01F * lr_scale[k] * model.ratio[k] * trust[k];
    const float inverse = 1.0F / sigma[k];
    for (std::size_t i = model.first(k); i < model.last(k); ++i) {
      const float m = kept[k] != 0 ? model.m[i] : inverse * after.said(i);
      const float p = model.v[i] > 0.0F ? m / (std::sqrt(model.v[i]) + lamb_eps) : 0.0F;
      wanted[i] -= step * (p + model.lambda[k] * model.x[i]);
    }
  }
  const auto x = test::to_device<Space>(model.x);
  const OnebitLambMomentum<SignQuantiser, Space> momentum{
      {{}, after.map, test::to_device<Space>(after.words)}, {}, test::to_device<Space>(model.m)};
  const Kokkos::View<const float*, Space> v = test::to_device<Space>(model.v);
  onebit_lamb_apply(TypeParam{}, rule, this->tiles, this->tensors, this->frozen, momentum, x, v);
  Kokkos::fence();
  test::expect_same_numbers(test::to_host(x), wanted, "x");
}

}  // namespace
}  // namespace kadam
