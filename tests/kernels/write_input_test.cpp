// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/block_coder.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/kernels/write_input.hpp>
#include <kadam/wire/block_message.hpp>

#include <bit>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>
#include <string>
#include <vector>

namespace kadam {
namespace {

/// 0.9 of what was said before, and a tenth of a number.
struct MomentumOfNumber {
  KOKKOS_FUNCTION float operator()(const float number, const std::int64_t /*i*/, const float previous) const {
    return 0.9F * previous + 0.1F * number;
  }
};

/// The number and its place, whatever was said before.
struct NumberAndPlace {
  KOKKOS_FUNCTION float operator()(const float number, const std::int64_t i) const {
    return number + static_cast<float>(i % 5);
  }
};

template <class Write, class Space>
struct WriteEach {
  Write write;
  Kokkos::View<const float*, Space> previous;
  KOKKOS_FUNCTION void operator()(const std::int64_t i) const { write(i, previous(i)); }
};

/// A message whose words are the values themselves.
template <class Exec>
class WriteInputTest : public testing::Test {
 public:
  using Memory = typename Exec::memory_space;

  template <class Load>
  static void expect_written(const Load& load, const std::vector<float>& previous,
                             const std::vector<float>& wanted, const std::string& where) {
    const auto n = static_cast<std::int64_t>(previous.size());
    const BlockMessage message(ChunkLayout(n, 1), 100, IdentityQuantiser::bits, false);
    std::vector<std::uint32_t> words;
    words.reserve(previous.size());
    for (const float value : previous) words.push_back(std::bit_cast<std::uint32_t>(value));
    const ConstWords<Memory> said = test::to_device<Memory>(words);
    for (const auto& [begin, end] : test::ranges_of(n)) {
      std::vector<float> in_range(previous.size(), -7.0F);
      std::copy(wanted.begin() + begin, wanted.begin() + end, in_range.begin() + begin);
      const auto out = test::to_device<Memory>(std::vector<float>(previous.size(), -7.0F));
      decode_and_apply(Exec{}, IdentityQuantiser{}, message.map(), said, ActiveMask<Memory>{}, begin, end,
                       WriteInput<Load, Memory>{load, out});
      Kokkos::fence();
      test::expect_same_numbers(test::to_host(out), in_range,
                                "n " + std::to_string(n) + " from " + std::to_string(begin) + " " + where);
    }
  }
};
TYPED_TEST_SUITE(WriteInputTest, test::ExecutionSpaces);

TYPED_TEST(WriteInputTest, WritesWhatGoesOnFromAMessage) {
  using Space = typename TypeParam::memory_space;
  using Load = OfNumbers<Space, MomentumOfNumber>;
  for (const std::int64_t n : test::sizes) {
    const auto previous = test::vector_with_nan(n, 1);
    const auto gradient = test::random_gradient(n, 0, 1);
    test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
      std::vector<float> wanted = previous;
      for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = 0.9F * previous[i] + 0.1F * values[i];
      TestFixture::expect_written(Load{numbers, {}}, previous, wanted, format);
    });
  }
}

/// Not even a value that is not a number gets through.
TYPED_TEST(WriteInputTest, IgnoresThePreviousValueWhereTheInputDoesNotGoOn) {
  using Space = typename TypeParam::memory_space;
  using OfFormat = IgnoresPrevious<OfNumbers<Space, NumberAndPlace>>;
  using OfElement = IgnoresPrevious<ElementOf<Space>>;
  for (const std::int64_t n : test::sizes) {
    const auto previous = test::vector_with_nan(n, 1);
    const auto gradient = test::random_gradient(n, 0, 1);
    test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
      std::vector<float> wanted = values;
      for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] += static_cast<float>(i % 5);
      TestFixture::expect_written(OfFormat{{numbers, {}}}, previous, wanted, format);
    });
    TestFixture::expect_written(OfElement{{test::to_device<Space>(gradient)}}, previous, gradient, "element");
  }
}

/// Called as they are, for places that are not worth a loop for each format.
TYPED_TEST(WriteInputTest, IsTheSameWithoutAFormatAtHand) {
  using Space = typename TypeParam::memory_space;
  using Load = OfNumbers<Space, MomentumOfNumber>;
  using Policy = Kokkos::RangePolicy<TypeParam, Kokkos::IndexType<std::int64_t>>;
  const auto gradient = test::random_gradient(1000, 0, 1);
  const auto previous = test::random_vector(1000, 1);
  test::for_each_format<Space>(gradient, [&](const auto& numbers, const auto& values, const char* format) {
    std::vector<float> wanted = previous;
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = 0.9F * previous[i] + 0.1F * values[i];
    const Kokkos::View<float*, Space> out("out", 1000);
    Kokkos::parallel_for("test", Policy(TypeParam{}, 0, 1000),
                         WriteEach<WriteInput<Load, Space>, Space>{{Load{numbers, {}}, out},
                                                                   test::to_device<Space>(previous)});
    Kokkos::fence();
    test::expect_same_numbers(test::to_host(out), wanted, format);

    using OfPlace = IgnoresPrevious<OfNumbers<Space, NumberAndPlace>>;
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = values[i] + static_cast<float>(i % 5);
    Kokkos::parallel_for("test", Policy(TypeParam{}, 0, 1000),
                         WriteEach<WriteInput<OfPlace, Space>, Space>{{OfPlace{{numbers, {}}}, out},
                                                                      test::to_device<Space>(previous)});
    Kokkos::fence();
    test::expect_same_numbers(test::to_host(out), wanted, format);
  });
}

}  // namespace
}  // namespace kadam
