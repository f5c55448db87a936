// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/support_overlap.hpp>
#include <kadam/wire/sparse_message.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/sparse_decoder.hpp>
#include <support/host_views.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace kadam {
namespace {

/// A message of random elements with random values, zeros, denormals and not-a-numbers among them, written
/// bit by bit from the description of the format.
std::vector<std::uint32_t> random_sparse_message(std::int64_t n, std::int64_t block, double density,
                                                 std::mt19937_64& engine) {
  const float values[] = {1.0F,
                          -2.0F,
                          0.0F,
                          -0.0F,
                          std::numeric_limits<float>::denorm_min(),
                          std::numeric_limits<float>::quiet_NaN()};
  std::vector<std::uint32_t> words;
  for (std::int64_t begin = 0; begin < n; begin += block) {
    const std::int64_t length = std::min(block, n - begin);
    const auto wanted = static_cast<std::int64_t>(density * static_cast<double>(length) + 0.5);
    const auto k = static_cast<std::size_t>(std::clamp<std::int64_t>(wanted, 1, length));
    std::size_t bits = 0;
    while ((std::int64_t{1} << bits) < length) ++bits;
    std::vector<std::uint32_t> all(static_cast<std::size_t>(length));
    std::iota(all.begin(), all.end(), 0U);
    std::vector<std::uint32_t> chosen;
    std::sample(all.begin(), all.end(), std::back_inserter(chosen), k, engine);
    for (std::size_t p = 0; p < k; ++p) words.push_back(std::bit_cast<std::uint32_t>(values[engine() % 6]));
    std::vector<std::uint32_t> indices((k * bits + 31) / 32, 0U);
    for (std::size_t bit = 0; bit < k * bits; ++bit) {
      indices[bit / 32] |= (chosen[bit / bits] >> (bit % bits) & 1U) << (bit % 32);
    }
    words.insert(words.end(), indices.begin(), indices.end());
  }
  return words;
}

/// Of one to five ranks, messages with a gap between them.
struct SparseCase {
  std::int64_t n;
  std::int64_t block;
  double density;
  int ranks;

  template <class Exec>
  void expect_equal_counts() const {
    using Space = typename Exec::memory_space;
    const SparseMessage message(n, block, density);
    const auto stride = message.total_bytes() / 4 + 2;
    std::mt19937_64 engine(static_cast<std::uint64_t>(n + ranks));
    std::vector<std::uint32_t> words;
    std::vector<int> senders(static_cast<std::size_t>(n), 0);
    for (int rank = 0; rank < ranks; ++rank) {
      const auto own = random_sparse_message(n, block, density, engine);
      ASSERT_EQ(own.size(), message.total_bytes() / 4);
      for (const auto& [i, value] : test::decode_sparse(own, n, block, density)) {
        if (value != 0.0F) ++senders[static_cast<std::size_t>(i)];
      }
      words.insert(words.end(), own.begin(), own.end());
      words.resize(stride * static_cast<std::size_t>(rank + 1), 0xffffffffU);
    }
    const Kokkos::View<std::uint8_t*, Space> room("senders", static_cast<std::size_t>(n));
    Kokkos::deep_copy(room, std::uint8_t{77});
    const SupportOverlap got =
        support_overlap(Exec{},
                        SparseMessages<Space>{message.map(), test::to_device<Space>(words), ranks,
                                              static_cast<std::int64_t>(4 * stride)},
                        room);
    const std::string where = "n " + std::to_string(n) + " ranks " + std::to_string(ranks);
    EXPECT_EQ(got.touched, std::count_if(senders.begin(), senders.end(), [](int k) { return k > 0; }))
        << where;
    EXPECT_EQ(got.shared, std::count_if(senders.begin(), senders.end(), [](int k) { return k > 1; }))
        << where;
  }
};

template <class Exec>
class SupportOverlapTest : public testing::Test {};
TYPED_TEST_SUITE(SupportOverlapTest, test::ExecutionSpaces);

TYPED_TEST(SupportOverlapTest, IsEquivalentToReference) {
  for (const std::int64_t n : {1, 31, 32, 33, 1000, (1 << 20) + 7}) {
    for (const int ranks : {1, 2, 5}) {
      SparseCase{n, 64, 0.1, ranks}.expect_equal_counts<TypeParam>();
      SparseCase{n, 4096, 0.3, ranks}.expect_equal_counts<TypeParam>();
    }
  }
  SparseCase{1000, 1000, 0.1, 3}.expect_equal_counts<TypeParam>();  // one block
  SparseCase{1000, 7, 1.0, 3}.expect_equal_counts<TypeParam>();     // all elements
}

TYPED_TEST(SupportOverlapTest, OfNothingIsNothing) {
  using Space = typename TypeParam::memory_space;
  const SparseMessage message(0, 64, 0.1);
  const SupportOverlap got =
      support_overlap(TypeParam{}, SparseMessages<Space>{message.map(), Words<Space>{}, 3, 0},
                      Kokkos::View<std::uint8_t*, Space>{});
  EXPECT_EQ(got.touched, 0);
  EXPECT_EQ(got.shared, 0);
}

}  // namespace
}  // namespace kadam
