// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/ordered_mean.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <reference/simulated_ranks.hpp>

#include <string>
#include <vector>

namespace kadam {
namespace {

template <class Exec>
class OrderedMeanTest : public testing::Test {
 public:
  using Memory = typename Exec::memory_space;

  /// Parts of all ranks, more than n apart, with numbers between them that nobody may touch.
  template <Number T>
  static void expect_mean(std::int64_t n, int ranks, const std::string& name) {
    const auto format = reference::Format::named(name);
    const std::int64_t stride = n + 3;
    reference::Ranks parts;
    std::vector<T> all;
    for (int rank = 0; rank < ranks; ++rank) {
      parts.push_back(format.rounded(test::random_gradient(n, rank, 1)));
      for (const float value : parts.back()) all.push_back(round_to<T>(value));
      all.resize(static_cast<std::size_t>((rank + 1) * stride), round_to<T>(1e4F));
    }
    const auto out =
        test::to_device<Memory>(std::vector<T>(static_cast<std::size_t>(stride), round_to<T>(-7.0F)));
    ordered_mean<Exec, Memory>(Exec{}, n, ranks, stride, test::to_device<Memory>(all), out);
    Kokkos::fence();
    std::vector<float> got;
    for (const T value : test::to_host(out)) got.push_back(to_float(value));
    std::vector<float> wanted = format.rounded(reference::dense_mean(parts));
    wanted.resize(static_cast<std::size_t>(stride), -7.0F);
    test::expect_same_numbers(got, wanted,
                              name + " n " + std::to_string(n) + " ranks " + std::to_string(ranks));
  }
};
TYPED_TEST_SUITE(OrderedMeanTest, test::ExecutionSpaces);

TYPED_TEST(OrderedMeanTest, IsEquivalentToReferenceToTheLastBit) {
  for (const std::int64_t n : test::sizes) {
    for (const int ranks : {1, 3, 7}) {
      TestFixture::template expect_mean<float>(n, ranks, "float32");
      if (n > 1000) continue;
      TestFixture::template expect_mean<Bfloat16>(n, ranks, "bf16");
      TestFixture::template expect_mean<Float16>(n, ranks, "fp16");
    }
  }
}

/// In another order than that of ranks the small ones would be lost, or not: 1e8 + 1 is 1e8.
TYPED_TEST(OrderedMeanTest, AddsInTheOrderOfRanks) {
  using Space = typename TypeParam::memory_space;
  const auto mean = [](const std::vector<float>& of_ranks) {
    const Kokkos::View<float*, Space> out("out", 1);
    ordered_mean<TypeParam, Space>(TypeParam{}, 1, 4, 1, test::to_device<Space>(of_ranks), out);
    Kokkos::fence();
    return test::to_host(out)[0];
  };
  EXPECT_EQ(mean({1e8F, 1.0F, -1e8F, 2.0F}), 0.5F);
  EXPECT_EQ(mean({1e8F, -1e8F, 1.0F, 2.0F}), 0.75F);
  EXPECT_EQ(mean({1.0F, 2.0F, 1e8F, -1e8F}), 0.0F);
  EXPECT_EQ(mean({2.0F, 1e8F, -1e8F, 1.0F}), 0.25F);
}

}  // namespace
}  // namespace kadam
