// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/last_team.hpp>
#include <kernels/execution_spaces.hpp>
#include <support/host_views.hpp>

#include <string>

namespace kadam {
namespace {

/// Every thread of a team writes numbers; the last team adds up all that all teams wrote.
template <class Space>
struct AddUpInTheEnd {
  static constexpr std::int64_t of_team = 500;

  std::int64_t teams;
  std::int64_t round;
  Kokkos::View<std::int64_t*, Space> written;
  Kokkos::View<std::uint32_t*, Space> done;
  Kokkos::View<std::int64_t*, Space> sums;  ///< a number for each team that took itself for the last

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t team) const {
    if constexpr (!Member::is_one_thread) {
      constexpr std::int64_t count = of_team;
      member.for_each(count, [&](const std::int64_t k) { written(team * count + k) = round + team; });
      if (!detail::is_last_team(member, done(0), teams)) return;
      const std::int64_t sum = member.total(teams * count, [&](const std::int64_t k) { return written(k); });
      member.once([&] { sums(Kokkos::atomic_fetch_add(&done(1), 1U)) = sum; });
    }
  }
};

template <class Exec>
class LastTeamTest : public testing::Test {};
TYPED_TEST_SUITE(LastTeamTest, test::ExecutionSpaces);

TYPED_TEST(LastTeamTest, OneTeamSeesWhatAllWrote) {
  if constexpr (detail::one_thread_per_block<TypeParam>) {
    GTEST_SKIP() << "no teams";
  } else {
    using Space = typename TypeParam::memory_space;
    using Kernel = AddUpInTheEnd<Space>;
    for (const std::int64_t teams : {1, 2, 3, 100, 3000}) {
      const Kokkos::View<std::int64_t*, Space> written("written",
                                                       static_cast<std::size_t>(teams * Kernel::of_team));
      const Kokkos::View<std::uint32_t*, Space> done("done", 2);
      const Kokkos::View<std::int64_t*, Space> sums("sums", static_cast<std::size_t>(teams));
      for (std::int64_t round = 1; round <= 3; ++round) {  // the counter is left as it was found
        Kokkos::deep_copy(Kokkos::subview(done, 1), 0U);
        detail::for_each_block("kadam::test", TypeParam{}, 0, teams,
                               Kernel{teams, round, written, done, sums});
        Kokkos::fence();
        EXPECT_EQ(test::to_host(done)[0], 0U);
        ASSERT_EQ(test::to_host(done)[1], 1U) << teams << " teams";
        EXPECT_EQ(test::to_host(sums)[0], Kernel::of_team * (teams * round + teams * (teams - 1) / 2))
            << teams << " teams, round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace kadam
