// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/kernels/top_k.hpp>
#include <kadam/kernels/two_levels.hpp>
#include <kadam/wire/sparse_message.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/selection_cases.hpp>
#include <kernels/sparse_decoder.hpp>
#include <reference/top_k.hpp>
#include <reference/two_levels.hpp>
#include <support/host_views.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

namespace kadam {
namespace {

using reference::TwoLevels;

TEST(TwoLevelsReference, HandSized) {
  const std::vector<float> values = {1.0F, -3.0F, 0.0F, 2.0F, -6.0F, 8.0F};
  const TwoLevels levels = TwoLevels::of(values, std::vector<int>{0, 1, 3, 4, 5});  // the mean is 4
  EXPECT_EQ(levels.low, 2.0F);
  EXPECT_EQ(levels.high, 7.0F);
  EXPECT_EQ(levels.decoded(-3.0F), -2.0F);
  EXPECT_EQ(levels.decoded(-6.0F), -7.0F);
  EXPECT_EQ(levels.decoded(8.0F), 7.0F);
  const TwoLevels filled = TwoLevels::of(values, std::vector<int>{0, 1, 2, 3});  // with a zero
  EXPECT_EQ(filled.low, 0.0F);
  EXPECT_EQ(filled.high, 2.0F);
  EXPECT_EQ(filled.decoded(1.0F), 2.0F);
  const TwoLevels equal = TwoLevels::of(std::vector<float>(3, -0.1F), std::vector<int>{0, 1, 2});
  EXPECT_EQ(equal.low, 0.1F);
  EXPECT_EQ(equal.decoded(-0.1F), -0.1F);
}

template <class Exec>
class TwoLevelsTest : public testing::Test {
 public:
  using Space = typename Exec::memory_space;

  /// A message that begins in the middle of a word, with other bytes around it.
  static void equals_reference(const std::vector<float>& values, std::int64_t block, double density,
                               const std::string& name) {
    const auto n = static_cast<std::int64_t>(values.size());
    const std::int64_t before = 5;
    const SparseMessage exact(n, block, density);
    const SparseMessage message(n, block, density, SparseValues::two_levels);
    const Words<Space> selected("selected", exact.total_bytes() / 4);
    const Words<Space> words("words", message.total_bytes() / 4 + 3);
    Kokkos::deep_copy(words, 0xdedededeU);
    const auto residual = test::to_device<Space>(values);
    select_top_k(Exec{}, exact.map(), residual, Selected::stays, selected);
    encode_two_levels<Exec, Space>(Exec{}, exact.map(), selected, message.map(),
                                   reinterpret_cast<std::uint8_t*>(words.data()) + before, residual);
    const auto x = test::to_device<Space>(std::vector<float>(values.size(), 0.0F));
    const Kokkos::View<float*, Space> sums(
        "sums", static_cast<std::size_t>(sparse_sum_elements(host_threads(Exec{}), message.map())));
    subtract_mean_of_messages(Exec{}, SparseMessages<Space>{message.map(), words, 1, 0, before}, sums, x);
    Kokkos::fence();
    const std::string where = name + ", n " + std::to_string(n) + ", block " + std::to_string(block) +
                              ", density " + std::to_string(density);
    const std::vector<std::uint8_t> bytes = bytes_in(words);
    const auto end = bytes.begin() + before + static_cast<std::ptrdiff_t>(message.total_bytes());
    const auto untouched = [](std::uint8_t byte) { return byte == 0xde; };
    ASSERT_TRUE(std::all_of(bytes.begin(), bytes.begin() + before, untouched)) << where;
    ASSERT_TRUE(std::all_of(end, bytes.end(), untouched)) << where;
    std::vector<float> left = values;
    std::vector<float> taken(values.size(), 0.0F);
    std::size_t next = 0;
    const auto got = test::decode_two_levels({bytes.begin() + before, end}, n, block, density);
    for (std::int64_t begin = 0; begin < n; begin += block) {
      const auto sent = reference::largest(values, begin, std::min(begin + block, n), density);
      const TwoLevels levels = TwoLevels::of(values, sent);
      for (const std::int64_t i : sent) {
        const float said = levels.decoded(values[static_cast<std::size_t>(i)]);
        ASSERT_EQ(got.at(next).first, i) << where << ", entry " << next;
        ASSERT_EQ(std::memcmp(&got[next].second, &said, sizeof(float)), 0)
            << where << ", entry " << next << ": " << got[next].second << " instead of " << said;
        left[static_cast<std::size_t>(i)] -= said;
        taken[static_cast<std::size_t>(i)] -= said;
        ++next;
      }
    }
    ASSERT_EQ(next, got.size());
    if (n == 0) return;
    const auto kept = test::to_host(residual);
    ASSERT_EQ(std::memcmp(kept.data(), left.data(), left.size() * sizeof(float)), 0) << where;
    const auto applied = test::to_host(x);
    ASSERT_EQ(std::memcmp(applied.data(), taken.data(), taken.size() * sizeof(float)), 0) << where;
  }

  /// What three ranks say, 3 bytes apart, summed in rank order: the blocks in parts, or one block by all
  /// threads.
  static void mean_equals_reference(std::int64_t n, std::int64_t block, double density) {
    const int ranks = 3;
    const SparseMessage exact(n, block, density);
    const SparseMessage message(n, block, density, SparseValues::two_levels);
    const std::int64_t stride = static_cast<std::int64_t>(message.total_bytes()) + 3;
    const Words<Space> words("words", static_cast<std::size_t>(ranks * stride / 4 + 1));
    const Words<Space> selected("selected", exact.total_bytes() / 4);
    std::vector<float> mean(static_cast<std::size_t>(n), 0.0F);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto values = test::random_vector(n, 40U + static_cast<unsigned>(rank));
      const auto residual = test::to_device<Space>(values);
      select_top_k(Exec{}, exact.map(), residual, Selected::stays, selected);
      encode_two_levels<Exec, Space>(Exec{}, exact.map(), selected, message.map(),
                                     reinterpret_cast<std::uint8_t*>(words.data()) + rank * stride, residual);
      Kokkos::fence();
      for (std::int64_t begin = 0; begin < n; begin += block) {
        const auto sent = reference::largest(values, begin, std::min(begin + block, n), density);
        const TwoLevels levels = TwoLevels::of(values, sent);
        for (const std::int64_t i : sent)
          mean[static_cast<std::size_t>(i)] += levels.decoded(values[static_cast<std::size_t>(i)]);
      }
    }
    const SparseMessages<Space> messages{message.map(), words, ranks, stride};
    const auto x = test::to_device<Space>(std::vector<float>(mean.size(), 0.0F));
    const Kokkos::View<float*, Space> sums(
        "sums", static_cast<std::size_t>(sparse_sum_elements(host_threads(Exec{}), message.map())));
    subtract_mean_of_messages(Exec{}, messages, sums, x);
    Kokkos::fence();
    const auto got = test::to_host(x);
    for (std::size_t i = 0; i < mean.size(); ++i)
      ASSERT_EQ(got[i], 0.0F - mean[i] * static_cast<float>(1.0 / ranks)) << "n " << n << ", element " << i;
  }

 private:
  static std::vector<std::uint8_t> bytes_in(const Words<Space>& words) {
    const auto host = test::to_host(words);
    std::vector<std::uint8_t> bytes(4 * host.size());
    std::memcpy(bytes.data(), host.data(), bytes.size());
    return bytes;
  }
};
TYPED_TEST_SUITE(TwoLevelsTest, test::ExecutionSpaces);

TYPED_TEST(TwoLevelsTest, IsEquivalentToReference) {
  for (const std::int64_t n : {0, 1, 31, 32, 33, 1000, 4096, 4097}) {
    for (const auto& [name, values] : test::selection_cases(n)) {
      if (name == "infinities") continue;  // no such thing reaches it
      for (const std::int64_t block : {1, 50, 1000, 4096}) {
        for (const double density : {0.001, 0.01, 0.1, 1.0})
          this->equals_reference(values, block, density, name);
      }
    }
  }
}

TYPED_TEST(TwoLevelsTest, IsEquivalentToReferenceInLongVectors) {
  this->equals_reference(test::random_vector((1 << 20) + 7, 9), 4096, 0.03, "long");
}

TYPED_TEST(TwoLevelsTest, MeanIsEquivalentToReference) {
  for (const std::int64_t n : {1, 33, 1000, 5000}) {
    this->mean_equals_reference(n, 64, 0.3);
    this->mean_equals_reference(n, 100, 0.01);
    this->mean_equals_reference(n, 4096, 0.002);
  }
}

}  // namespace
}  // namespace kadam
