// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/large_top_k.hpp>
#include <kadam/wire/sparse_message.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/selection_cases.hpp>
#include <kernels/sparse_decoder.hpp>
#include <reference/top_k.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>
#include <support/recorded_work.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace kadam {
namespace {

template <class Exec>
class LargeTopKTest : public testing::Test {
 public:
  using Space = typename Exec::memory_space;

  /// Block by block: the workspace of one is used for the next.
  static void equals_reference(const std::vector<float>& values, std::int64_t block, double density,
                               Selected selected, const std::string& name) {
    const auto n = static_cast<std::int64_t>(values.size());
    const SparseMessage message(n, block, density);
    const auto device = test::to_device<Space>(values);
    const Words<Space> words("words", message.total_bytes() / 4);
    Kokkos::deep_copy(words, 0xdeadbeefU);
    const Exec exec;
    const LargeTopK<Exec> select(exec, message.map().block_elements);
    for (std::int64_t b = 0; b < message.map().blocks; ++b)
      select(exec, message.map(), b, device, selected, words);
    exec.fence();
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
    ASSERT_EQ(std::memcmp(kept.data(), left.data(), left.size() * sizeof(float)), 0) << where;
  }
};
TYPED_TEST_SUITE(LargeTopKTest, test::ExecutionSpaces);

/// Densities on both sides of where groups help, blocks that do not end with a group.
TYPED_TEST(LargeTopKTest, IsEquivalentToReference) {
  for (const std::int64_t n : {1, 17, 1000, 20001}) {
    for (const auto& [name, values] : test::selection_cases(n)) {
      for (const double density : {0.01, 0.1}) {
        for (const std::int64_t block : {n, n / 3 + 1})
          this->equals_reference(values, block, density, Selected::becomes_zero, name);
      }
    }
  }
}

TYPED_TEST(LargeTopKTest, SelectsAllOfABlock) {
  for (const auto& [name, values] : test::selection_cases(1000))
    this->equals_reference(values, 300, 1.0, Selected::becomes_zero, name);
}

TYPED_TEST(LargeTopKTest, IsEquivalentToReferenceInLongVectors) {
  for (const auto& [name, values] : test::selection_cases((1 << 18) + 7)) {
    this->equals_reference(values, (1 << 18) + 7, 0.001, Selected::stays, name);
    this->equals_reference(values, 1 << 17, 0.03, Selected::becomes_zero, name);
  }
}

/// The message of a CPU's one thread, and of this execution space, word by word; one workspace for all cases
/// of a size, so that it is seen what a call leaves behind.
TYPED_TEST(LargeTopKTest, WritesTheMessageOfOneThread) {
  using Memory = typename TypeParam::memory_space;
  const TypeParam exec;
  for (const std::int64_t n : {1, 31, 32, 33, 1000, 40000, (1 << 20) + 7}) {
    const LargeTopK<TypeParam> select(exec, n);
    const LargeTopK<Kokkos::Serial> select_by_one(Kokkos::Serial{}, n);
    auto cases = test::selection_cases(n);
    cases.emplace_back("not a number", test::random_vector(n, 17));
    for (std::size_t i = 0; i < cases.back().second.size(); i += 77)
      cases.back().second[i] = std::numeric_limits<float>::quiet_NaN();
    const std::int64_t groups = (n + 31) / 32;
    std::set<std::int64_t> counts = {1, n};
    for (const std::int64_t k : {n / 100, groups / 2, groups / 2 + 1, groups, n - 1}) {
      if (k >= 1) counts.insert(k);
    }
    if (n >= 100000) counts = {1, n / 100};  // the others take their time
    for (const auto& [name, values] : cases) {
      for (const std::int64_t k : counts) {
        const SparseMessage message(n, n, static_cast<double>(k) / static_cast<double>(n));
        ASSERT_EQ(message.map().last.entries, k);
        const Words<Memory> words("words", message.total_bytes() / 4);
        const Words<Kokkos::HostSpace> wanted("wanted", message.total_bytes() / 4);
        Kokkos::deep_copy(words, 0xdeadbeefU);
        Kokkos::deep_copy(wanted, 0xdeadbeefU);
        select(exec, message.map(), 0, test::to_device<Memory>(values), Selected::stays, words);
        select_by_one(Kokkos::Serial{}, message.map(), 0, test::to_device<Kokkos::HostSpace>(values),
                      Selected::stays, wanted);
        exec.fence();
        ASSERT_EQ(test::to_host(words), test::to_host(wanted)) << name << ", n " << n << ", k " << k;
      }
    }
  }
}

/// Of a GPU: no more, or short vectors wait for launches.
TYPED_TEST(LargeTopKTest, IsSevenKernels) {
  if constexpr (detail::one_thread_per_block<TypeParam>) {
    GTEST_SKIP() << "a CPU's launches cost little";
  } else {
    using Memory = typename TypeParam::memory_space;
    const std::int64_t n = 200000;
    const SparseMessage message(n, n, 0.01);
    const auto values = test::to_device<Memory>(test::random_vector(n, 1));
    const Words<Memory> words("words", message.total_bytes() / 4);
    const TypeParam exec;
    const LargeTopK<TypeParam> select(exec, n);
    select(exec, message.map(), 0, values, Selected::stays, words);  // Kokkos makes room for its own first
    exec.fence();
    const test::RecordedWork work;
    select(exec, message.map(), 0, values, Selected::stays, words);
    EXPECT_EQ(work.launches(),
              (std::vector<std::string>{"kadam::LargeTopK::tally", "kadam::LargeTopK::tally_again",
                                        "kadam::LargeTopK::list", "kadam::LargeTopK::tally_reaching",
                                        "kadam::LargeTopK::tally_reaching", "kadam::LargeTopK::mark",
                                        "kadam::LargeTopK::select"}));
    EXPECT_EQ(work.fences(), std::vector<std::string>{});
  }
}

std::uint64_t allocated_bytes = 0;

TYPED_TEST(LargeTopKTest, HoldsTheBytesThatItSays) {
  const TypeParam exec;
  const std::int64_t threads = detail::one_thread_per_block<TypeParam> ? exec.concurrency() : 0;
  for (const std::int64_t n : {1, 33, 70000, 1 << 25}) {
    allocated_bytes = 0;
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t bytes) {
          allocated_bytes += bytes;
        });
    const LargeTopK<TypeParam> select(exec, n);
    Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
    const std::size_t said = LargeTopK<TypeParam>::workspace_bytes(threads, n);
    EXPECT_GE(allocated_bytes, said) << n;
    EXPECT_LT(allocated_bytes, said + 6 * 8) << n;  // Kokkos rounds each of six Views up to 8 B
  }
}

TYPED_TEST(LargeTopKTest, PutsNotANumberFirst) {
  using Memory = typename TypeParam::memory_space;
  const std::int64_t n = 100000;
  std::vector<float> values(static_cast<std::size_t>(n), 1.0F);
  for (const std::size_t i : {std::size_t{7}, std::size_t{20000}, std::size_t{99999}})
    values[i] = -std::numeric_limits<float>::quiet_NaN();
  values[100] = std::numeric_limits<float>::infinity();
  const double density = 4.0 / static_cast<double>(n);
  const SparseMessage message(n, n, density);
  const Words<Memory> words("words", message.total_bytes() / 4);
  const TypeParam exec;
  LargeTopK<TypeParam>(exec, n)(exec, message.map(), 0, test::to_device<Memory>(values), Selected::stays,
                                words);
  exec.fence();
  std::vector<std::int64_t> indices;
  for (const auto& entry : test::decode_sparse(test::to_host(words), n, n, density))
    indices.push_back(entry.first);
  EXPECT_EQ(indices, (std::vector<std::int64_t>{7, 100, 20000, 99999}));
}

}  // namespace
}  // namespace kadam
