// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/kernels/top_k.hpp>
#include <kadam/wire/sparse_message.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/sparse_decoder.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <cstring>
#include <string>
#include <vector>

namespace kadam {
namespace {

void expect_same_bits(const std::vector<float>& got, const std::vector<float>& wanted,
                      const std::string& where) {
  ASSERT_EQ(got.size(), wanted.size()) << where;
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(std::memcmp(&got[i], &wanted[i], sizeof(float)), 0)
        << where << ", element " << i << ": " << got[i] << " instead of " << wanted[i];
  }
}

/// Messages of some ranks, and what they say, decoded by the tests' own decoder.
template <class Exec>
struct Messages {
  using Space = typename Exec::memory_space;

  Messages(std::int64_t elements, std::int64_t block, double density, int number)
      : message(elements, block, density),
        stride(static_cast<std::int64_t>(message.total_bytes() / sizeof(std::uint32_t))),
        words("words", static_cast<std::size_t>(stride * number)),
        ranks(number),
        where("n " + std::to_string(elements) + ", block " + std::to_string(block) + ", density " +
              std::to_string(density) + ", ranks " + std::to_string(number)) {
    for (int rank = 0; rank < ranks; ++rank) {
      const auto values =
          test::to_device<Space>(test::random_vector(elements, 20U + static_cast<unsigned>(rank)));
      const Words<Space> own = of(rank);
      select_top_k(Exec{}, message.map(), values, Selected::stays, own);
      Kokkos::fence();
      entries.push_back(test::decode_sparse(test::to_host(own), elements, block, density));
    }
  }

  [[nodiscard]] Words<Space> of(int rank) const {
    return Kokkos::subview(words, Kokkos::make_pair(rank * stride, (rank + 1) * stride));
  }
  [[nodiscard]] SparseMessages<Space> all() const { return {message.map(), words, ranks, 4 * stride}; }

  /// Summed in rank order in float32, times 1/n; and which elements were sent.
  void mean_into(std::vector<float>& mean, std::vector<bool>& sent) const {
    for (const test::Entries& of_rank : entries) {
      for (const auto& [i, value] : of_rank) {
        mean[static_cast<std::size_t>(i)] += value;
        sent[static_cast<std::size_t>(i)] = true;
      }
    }
    for (float& value : mean) value *= static_cast<float>(1.0 / ranks);
  }

  SparseMessage message;
  std::int64_t stride;
  Words<Space> words;
  int ranks;
  std::string where;
  std::vector<test::Entries> entries;
};

template <class Exec>
class SparseAccumulateTest : public testing::Test {
 public:
  using Space = typename Exec::memory_space;

  static void mean_equals_reference(std::int64_t elements, std::int64_t block, double density, int ranks) {
    const Messages<Exec> messages(elements, block, density, ranks);
    std::vector<float> mean(static_cast<std::size_t>(elements));
    std::vector<bool> sent(mean.size());
    messages.mean_into(mean, sent);
    std::vector<float> wanted = test::random_vector(elements, 19);
    const auto x = test::to_device<Space>(wanted);
    const Kokkos::View<float*, Space> sums(
        "sums", static_cast<std::size_t>(sparse_sum_elements(host_threads(Exec{}), messages.message.map())));
    for (int times = 0; times < 2; ++times) {  // the second finds what the first has left in the sums
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (sent[i]) wanted[i] -= mean[i];
      }
      subtract_mean_of_messages(Exec{}, messages.all(), sums, x);
    }
    const Kokkos::View<float*, Space> out("mean", mean.size());
    Kokkos::deep_copy(out, -7.0F);
    mean_of_messages(Exec{}, messages.all(), out);
    Kokkos::fence();
    expect_same_bits(test::to_host(x), wanted, "x, " + messages.where);
    expect_same_bits(test::to_host(sums), std::vector<float>(sums.extent(0)), "sums, " + messages.where);
    expect_same_bits(test::to_host(out), mean, "mean, " + messages.where);
  }
};
TYPED_TEST_SUITE(SparseAccumulateTest, test::ExecutionSpaces);

TYPED_TEST(SparseAccumulateTest, MeanIsEquivalentToReference) {
  for (const std::int64_t n : test::sizes) {
    for (const int ranks : {1, 3, 8}) {
      // With and without most cache lines touched; blocks that divide nothing; one block for all threads.
      this->mean_equals_reference(n, 64, 0.001, ranks);
      this->mean_equals_reference(n, 100, 0.3, ranks);
      this->mean_equals_reference(n, 4096, 0.002, ranks);
      this->mean_equals_reference(n, 4096, 0.01, ranks);
    }
    if (n > 0 && n <= 1000) this->mean_equals_reference(n, n, 0.1, 3);
  }
  this->mean_equals_reference(1000, 7, 1.0, 3);
}

TYPED_TEST(SparseAccumulateTest, SubtractsOneMessage) {
  using Memory = typename TypeParam::memory_space;
  const Messages<TypeParam> messages(5000, 300, 0.05, 1);
  std::vector<float> wanted = test::random_vector(5000, 18);
  const auto x = test::to_device<Memory>(wanted);
  for (const auto& [i, value] : messages.entries[0]) wanted[static_cast<std::size_t>(i)] -= value;
  subtract_message<TypeParam, Memory>(TypeParam{}, messages.message.map(), messages.words, x);
  Kokkos::fence();
  expect_same_bits(test::to_host(x), wanted, messages.where);
}

TYPED_TEST(SparseAccumulateTest, ClearsWhatWasKept) {
  using Memory = typename TypeParam::memory_space;
  const Messages<TypeParam> messages(5000, 300, 0.3, 2);
  std::vector<float> wanted = test::random_vector(5000, 17);
  const auto residual = test::to_device<Memory>(wanted);
  std::vector<bool> kept(wanted.size());
  for (const auto& [i, value] : messages.entries[1]) kept[static_cast<std::size_t>(i)] = true;
  int cleared = 0;
  for (const auto& [i, value] : messages.entries[0]) {
    if (!kept[static_cast<std::size_t>(i)]) continue;
    wanted[static_cast<std::size_t>(i)] = 0.0F;
    ++cleared;
  }
  ASSERT_GT(cleared, 100);
  clear_kept<TypeParam, Memory>(TypeParam{}, messages.message.map(), messages.of(0), messages.of(1),
                                residual);
  Kokkos::fence();
  expect_same_bits(test::to_host(residual), wanted, messages.where);
}

}  // namespace
}  // namespace kadam
