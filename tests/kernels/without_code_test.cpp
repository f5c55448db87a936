// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/without_code.hpp>
#include <kernels/execution_spaces.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <vector>

namespace kadam::without_code_test {
namespace {

/// 0.9 of the value, a tenth of the number, and something of the place.
struct GoesOn {
  KOKKOS_FUNCTION float operator()(const float number, const std::int64_t i, const float value) const {
    return 0.9F * value + 0.1F * number + static_cast<float>(i % 5);
  }
};

/// The same without with_format().
template <class Space>
struct GoesOnElementByElement {
  Kokkos::View<const float*, Space> numbers;
  KOKKOS_FUNCTION float operator()(const std::int64_t i, const float value) const {
    return GoesOn{}(numbers(i), i, value);
  }
};

template <class Exec>
class ContinueValuesTest : public testing::Test {};
TYPED_TEST_SUITE(ContinueValuesTest, test::ExecutionSpaces);

TYPED_TEST(ContinueValuesTest, PutsEachInputInThePlaceOfItsValue) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t n : test::sizes) {
    const std::vector<float> numbers = test::random_vector(n, 3);
    const std::vector<float> values = test::random_vector(n, 4);
    std::vector<float> wanted(values.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      wanted[i] = GoesOn{}(numbers[i], static_cast<std::int64_t>(i), values[i]);
    const Kokkos::View<const float*, Space> on_device = test::to_device<Space>(numbers);

    const auto by_format = test::to_device<Space>(values);
    continue_values(TypeParam{}, OfNumbers<Space, GoesOn>{on_device, {}}, by_format);
    EXPECT_EQ(test::to_host(by_format), wanted) << n;

    const auto one_by_one = test::to_device<Space>(values);
    continue_values(TypeParam{}, GoesOnElementByElement<Space>{on_device}, one_by_one);
    EXPECT_EQ(test::to_host(one_by_one), wanted) << n;
  }
}

}  // namespace
}  // namespace kadam::without_code_test
