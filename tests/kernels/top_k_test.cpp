// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/top_k.hpp>
#include <kadam/wire/sparse_message.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/selection_cases.hpp>
#include <kernels/sparse_decoder.hpp>
#include <reference/top_k.hpp>
#include <support/host_views.hpp>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace kadam {
namespace {

TEST(TopKReference, HandSized) {
  const std::vector<float> values = {1.0F, -3.0F, 0.5F, 3.0F, 2.0F, -3.0F};
  EXPECT_EQ(reference::largest(values, 0, 6, 0.34), (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(reference::largest(values, 2, 6, 0.01), (std::vector<std::int64_t>{3}));
  EXPECT_EQ(reference::largest_of_blocks(values, 4, 0.25), (std::vector<std::int64_t>{1, 5}));
}

template <class Exec>
class TopKTest : public testing::Test {
 public:
  using Space = typename Exec::memory_space;

  static void equals_reference(const std::vector<float>& values, std::int64_t block, double density,
                               Selected selected, const std::string& name) {
    const auto n = static_cast<std::int64_t>(values.size());
    const SparseMessage message(n, block, density);
    const auto device = test::to_device<Space>(values);
    const Words<Space> words("words", message.total_bytes() / 4);
    Kokkos::deep_copy(words, 0xdeadbeefU);
    select_top_k(Exec{}, message.map(), device, selected, words);
    Kokkos::fence();
    const std::string where = name + ", n " + std::to_string(n) + ", block " + std::to_string(block) +
                              ", density " + std::to_string(density);
    const auto got = test::decode_sparse(test::to_host(words), n, block, density);
    const auto wanted = reference::largest_of_blocks(values, block, density);
    ASSERT_EQ(got.size(), wanted.size()) << where;
    std::vector<float> left = values;
    for (std::size_t p = 0; p < got.size(); ++p) {
      const float value = values[static_cast<std::size_t>(wanted[p])];
      ASSERT_EQ(got[p].first, wanted[p]) << where << ", entry " << p;
      ASSERT_EQ(std::memcmp(&got[p].second, &value, sizeof(float)), 0) << where << ", entry " << p;
      if (selected == Selected::becomes_zero) left[static_cast<std::size_t>(wanted[p])] = 0.0F;
    }
    const auto kept = test::to_host(device);
    if (n > 0) {
      ASSERT_EQ(std::memcmp(kept.data(), left.data(), left.size() * sizeof(float)), 0) << where;
    }
  }
};
TYPED_TEST_SUITE(TopKTest, test::ExecutionSpaces);

TYPED_TEST(TopKTest, IsEquivalentToReference) {
  for (const std::int64_t n : {0, 1, 31, 32, 33, 1000, 4096, 4097}) {
    for (const auto& [name, values] : test::selection_cases(n)) {
      for (const std::int64_t block : {1, 50, 1000, 4096}) {
        for (const double density : {0.001, 0.01, 0.1, 1.0}) {
          this->equals_reference(values, block, density, Selected::becomes_zero, name);
        }
      }
    }
  }
}

TYPED_TEST(TopKTest, IsEquivalentToReferenceInLongVectors) {
  for (const auto& [name, values] : test::selection_cases((1 << 20) + 7)) {
    this->equals_reference(values, 4096, 0.01, Selected::becomes_zero, name);
    this->equals_reference(values, 65536, 0.01, Selected::stays, name);
    this->equals_reference(values, 65536, 0.001, Selected::stays, name);
  }
}

/// A tile that ends in the middle of a row, with all that is large behind its last whole row.
TYPED_TEST(TopKTest, FindsTheLastElements) {
  for (const std::size_t n : {std::size_t{1029}, std::size_t{1040}, std::size_t{4095}}) {
    std::vector<float> values(n, 1e-3F);
    for (std::size_t i = 0; i < 40; ++i) values[25 * i] = 0.5F;
    for (std::size_t i = n - 5; i < n; ++i) values[i] = 1.0F + static_cast<float>(i % 3);
    this->equals_reference(values, 4096, 0.01, Selected::becomes_zero, "the largest last");
  }
}

/// No such thing reaches it, but it must end, in order, with the right number of entries.
TYPED_TEST(TopKTest, PutsNotANumberFirst) {
  using Memory = typename TypeParam::memory_space;
  std::vector<float> values(4096, 1.0F);
  for (const std::size_t i : {std::size_t{7}, std::size_t{2000}, std::size_t{4095}})
    values[i] = -std::numeric_limits<float>::quiet_NaN();
  values[100] = std::numeric_limits<float>::infinity();
  const SparseMessage message(4096, 4096, 4.0 / 4096);
  const Words<Memory> words("words", message.total_bytes() / 4);
  select_top_k(TypeParam{}, message.map(), test::to_device<Memory>(values), Selected::stays, words);
  Kokkos::fence();
  std::vector<std::int64_t> indices;
  for (const auto& entry : test::decode_sparse(test::to_host(words), 4096, 4096, 4.0 / 4096))
    indices.push_back(entry.first);
  EXPECT_EQ(indices, (std::vector<std::int64_t>{7, 100, 2000, 4095}));
}

}  // namespace
}  // namespace kadam
