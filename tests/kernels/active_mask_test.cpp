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

TEST(ActiveMask, ARunEndsAtTheFirstElementThatIsNotAlike) {
  const Kokkos::View<std::uint32_t*, Kokkos::HostSpace> words("words", 6);
  // Active: [40, 110), and 150.
  words(1) = ~0U << 8U;
  words(2) = ~0U;
  words(3) = (1U << 14U) - 1U;
  words(4) = 1U << 22U;
  const ActiveMask<Kokkos::HostSpace> mask{words, 0};
  EXPECT_EQ(mask.run_from(0, 160), 40);
  EXPECT_EQ(mask.run_from(39, 121), 1);
  EXPECT_EQ(mask.run_from(40, 120), 70);
  EXPECT_EQ(mask.run_from(41, 9), 9);
  EXPECT_EQ(mask.run_from(110, 50), 40);
  EXPECT_EQ(mask.run_from(150, 10), 1);
  const ActiveMask<Kokkos::HostSpace> shifted{words, 5};
  EXPECT_EQ(shifted.run_from(35, 100), 70);
}

TEST(ActiveMask, AnEmptyMaskIsAllActive) {
  const ActiveMask<Kokkos::HostSpace> mask;
  EXPECT_TRUE(mask.all_active());
  EXPECT_EQ(mask.word(12345), ~0U);
  EXPECT_EQ(mask.run_from(7, 1000), 1000);
}

}  // namespace
}  // namespace kadam
