// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/active_mask.hpp>
#include <kernels/execution_spaces.hpp>
#include <support/host_views.hpp>

#include <vector>

namespace kadam {
namespace {

template <class Exec>
class ActiveMaskTest : public testing::Test {};
TYPED_TEST_SUITE(ActiveMaskTest, test::ExecutionSpaces);

struct EveryThird {
  KOKKOS_FUNCTION bool operator()(const std::int64_t i) const { return i % 3 == 0; }
};

TYPED_TEST(ActiveMaskTest, WordsStartAtAnyElement) {
  using Space = typename TypeParam::memory_space;
  const std::int64_t elements = 100;
  const Kokkos::View<std::uint32_t*, Space> words(
      "words", static_cast<std::size_t>(ActiveMask<Space>::words_for(elements)));
  fill_active_mask(TypeParam{}, words, elements, EveryThird{});
  Kokkos::fence();
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, words);
  const ActiveMask<Kokkos::HostSpace> mask{host, 0};
  for (std::int64_t i = 0; i < elements; ++i) {
    EXPECT_EQ(mask(i), i % 3 == 0) << i;
    for (std::int64_t bit = 0; bit < 32; ++bit) {
      const bool expected = i + bit < elements && (i + bit) % 3 == 0;
      EXPECT_EQ((mask.word(i) >> bit) & 1U, expected ? 1U : 0U);
    }
  }
  const ActiveMask<Kokkos::HostSpace> shifted{host, 64};
  EXPECT_EQ(shifted.word(2), mask.word(66));
}

TYPED_TEST(ActiveMaskTest, HasTheBitsOfLongVectors) {
  using Space = typename TypeParam::memory_space;
  for (const std::int64_t elements : test::sizes) {
    const Kokkos::View<std::uint32_t*, Space> words(
        "words", static_cast<std::size_t>(ActiveMask<Space>::words_for(elements)));
    Kokkos::deep_copy(words, 0xdeadbeefU);
    fill_active_mask(TypeParam{}, words, elements, EveryThird{});
    Kokkos::fence();
    std::vector<std::uint32_t> wanted(words.extent(0), 0);
    for (std::int64_t i = 0; i < elements; i += 3)
      wanted[static_cast<std::size_t>(i / 32)] |= 1U << static_cast<unsigned>(i % 32);
    EXPECT_EQ(test::to_host(words), wanted) << elements;
  }
}

TEST(ActiveMask, AnEmptyMaskIsAllActive) {
  const ActiveMask<Kokkos::HostSpace> mask;
  EXPECT_TRUE(mask.all_active());
  EXPECT_EQ(mask.word(12345), ~0U);
}

}  // namespace
}  // namespace kadam
