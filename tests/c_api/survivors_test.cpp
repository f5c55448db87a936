// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <c_api/c_optimizer.hpp>
#include <kadam/text_hash.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/shared_folder.hpp>
#include <support/smallest_options.hpp>

#include <algorithm>
#include <array>
#include <vector>

/// Through C: ranks fail, and the others go on; and others come. A rank fails by giving its optimizer back:
/// its connections end.
namespace kadam::test {
namespace {

struct Training {
  explicit Training(MPI_Comm communicator = MPI_COMM_WORLD)
      : of("onebit_adam", options()), x(random_vector(c_layout.elements(), 7)) {
    kadam_setup_wire(of.setup, "tcp");
    kadam_setup_timeout_seconds(of.setup, 30.0);
    kadam_setup_allow_alone(of.setup, 1);
    EXPECT_EQ(of.create(communicator), KADAM_SUCCESS) << of.error.text;
  }

  static OptionMap options() {
    OptionMap options = options_with_warmup("onebit_adam", 3);
    options["lr"] = 0.01;
    return options;
  }

  /// Steps first to last, until one fails.
  kadam_status take_steps(std::int64_t first, std::int64_t last, int rank) {
    kadam_status status = KADAM_SUCCESS;
    for (std::int64_t t = first; t <= last && status == KADAM_SUCCESS; ++t) {
      const std::vector<float> gradient = random_gradient(c_layout.elements(), rank, t);
      status = kadam_step(of.optimizer, x.data(), gradient.data(), nullptr, &of.error);
      const std::string words = "step " + std::to_string(t);
      if (status == KADAM_SUCCESS)
        status = kadam_after_step(of.optimizer, x.data(), words.c_str(), &of.error);
    }
    return status;
  }

  COptimizer of;
  std::vector<float> x;
};

/// The same bytes on all ranks that say so: the processes of the others live on.
void expect_equal_on(bool is_left, const std::vector<float>& x) {
  const auto* const bytes = reinterpret_cast<const char*>(x.data());
  std::uint64_t hash = is_left ? hash_of({bytes, x.size() * sizeof(float)}) : 0;
  std::vector<std::uint64_t> all(static_cast<std::size_t>(world_size()));
  MPI_Allgather(&hash, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
  for (const std::uint64_t of_rank : all) {
    if (!is_left || of_rank == 0) continue;
    EXPECT_EQ(of_rank, hash);
  }
}

TEST(CSurvivors, GoOnWithoutARankThatFails) {
  if (world_size() < 2) GTEST_SKIP() << "needs 2 ranks";
  Training training;
  COptimizer& of = training.of;
  ASSERT_EQ(kadam_keep_snapshots(of.optimizer, training.x.data(), 4, 2, "start", &of.error), KADAM_SUCCESS)
      << of.error.text;
  ASSERT_EQ(training.take_steps(1, 6, world_rank()), KADAM_SUCCESS) << of.error.text;
  const bool fails = world_rank() == 1;
  if (fails) {
    ASSERT_EQ(kadam_destroy(&of.optimizer, nullptr), KADAM_SUCCESS);
  } else {
    ASSERT_EQ(training.take_steps(7, 9, world_rank()), KADAM_PEER_FAILURE);
    std::fill(training.x.begin(), training.x.end(), 1e30F);
    kadam_survivors left{};
    ASSERT_EQ(kadam_go_on(of.optimizer, training.x.data(), &left, &of.error), KADAM_SUCCESS) << of.error.text;
    EXPECT_EQ(left.step, 4);
    EXPECT_EQ(left.rank, std::max(world_rank() - 1, 0));
    EXPECT_EQ(left.ranks, world_size() - 1);
    EXPECT_EQ(left.lost, 1);
    EXPECT_STREQ(kadam_words(of.optimizer), "step 4");
    ASSERT_EQ(training.take_steps(5, 12, left.rank), KADAM_SUCCESS) << of.error.text;
    kadam_statistics statistics;
    ASSERT_EQ(kadam_get_statistics(of.optimizer, &statistics, nullptr), KADAM_SUCCESS);
    EXPECT_EQ(statistics.steps_taken, 12);
    for (const float value : training.x) ASSERT_LT(std::abs(value), 10.0F);
  }
  expect_equal_on(!fails, training.x);
}

/// A rank and the one that keeps its part: the checkpoint is what is left.
TEST(CSurvivors, GoOnFromACheckpointWhereNoSnapshotIsWhole) {
  if (world_size() < 4) GTEST_SKIP() << "needs 4 ranks";
  const SharedFolder folder;
  const std::string path = folder.path().string();
  Training training;
  COptimizer& of = training.of;
  kadam_survivors left{};
  EXPECT_EQ(kadam_go_on(of.optimizer, training.x.data(), &left, &of.error), KADAM_NO_SNAPSHOT);
  EXPECT_NE(std::string(of.error.text).find("no snapshots are kept: call kadam_keep_snapshots() first"),
            std::string::npos);
  EXPECT_EQ(kadam_keep_snapshots(of.optimizer, training.x.data(), 4, 5, nullptr, &of.error),
            KADAM_INVALID_ARGUMENT);
  ASSERT_EQ(kadam_keep_snapshots(of.optimizer, training.x.data(), 4, 1, nullptr, &of.error), KADAM_SUCCESS)
      << of.error.text;
  ASSERT_EQ(training.take_steps(1, 3, world_rank()), KADAM_SUCCESS) << of.error.text;
  ASSERT_EQ(kadam_save(of.optimizer, training.x.data(), path.c_str(), 2, "saved", &of.error), KADAM_SUCCESS);
  ASSERT_EQ(training.take_steps(4, 5, world_rank()), KADAM_SUCCESS) << of.error.text;
  const bool fails = world_rank() == 1 || world_rank() == 2;
  if (fails) {
    ASSERT_EQ(kadam_destroy(&of.optimizer, nullptr), KADAM_SUCCESS);
  } else {
    ASSERT_EQ(training.take_steps(6, 9, world_rank()), KADAM_PEER_FAILURE);
    ASSERT_EQ(kadam_go_on(of.optimizer, training.x.data(), &left, &of.error), KADAM_NO_SNAPSHOT);
    EXPECT_NE(std::string(of.error.text).find("no snapshot is whole"), std::string::npos) << of.error.text;
    EXPECT_EQ(left.ranks, 2);
    EXPECT_EQ(left.step, 0);
    std::int64_t step = 0;
    ASSERT_EQ(kadam_load_newest(of.optimizer, training.x.data(), path.c_str(), &step, &of.error),
              KADAM_SUCCESS)
        << of.error.text;
    EXPECT_EQ(step, 3);
    EXPECT_STREQ(kadam_words(of.optimizer), "saved");
    ASSERT_EQ(training.take_steps(4, 9, left.rank), KADAM_SUCCESS) << of.error.text;
  }
  expect_equal_on(!fails, training.x);
}

/// The last rank is one that the others know nothing of: it is refused, and then joins them.
TEST(CNewcomers, JoinRanksThatAreAtWork) {
  if (world_size() < 2) GTEST_SKIP() << "needs 2 ranks";
  const int newcomer = world_size() - 1;
  const bool comes = world_rank() == newcomer;
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, comes ? 1 : 0, world_rank(), &mine);
  Training training(mine);
  MPI_Comm_free(&mine);
  COptimizer& of = training.of;
  std::array<char, 64> door{};
  const std::string own_door = kadam_door(of.optimizer);
  std::copy_n(own_door.begin(), std::min(own_door.size(), door.size() - 1), door.begin());
  MPI_Bcast(door.data(), static_cast<int>(door.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  kadam_survivors ranks{};
  EXPECT_EQ(kadam_has_newcomers(of.optimizer), 0);
  EXPECT_EQ(kadam_admit(of.optimizer, training.x.data(), nullptr, &ranks, &of.error), KADAM_NO_SNAPSHOT);
  std::int64_t step = 0;
  if (comes) {
    EXPECT_EQ(kadam_join(of.optimizer, training.x.data(), door.data(), nullptr, 3, 1, &ranks, &of.error),
              KADAM_INVALID_ARGUMENT)
        << "they take a snapshot every 2 steps";
    EXPECT_NE(std::string(of.error.text).find("snapshots every 2 steps, spread over 1"), std::string::npos)
        << of.error.text;
    EXPECT_EQ(kadam_after_step(of.optimizer, training.x.data(), nullptr, nullptr), KADAM_SUCCESS)
        << "none are kept";
    EXPECT_EQ(kadam_join(of.optimizer, training.x.data(), nullptr, nullptr, 2, 1, &ranks, &of.error),
              KADAM_INVALID_ARGUMENT);
    std::fill(training.x.begin(), training.x.end(), 1e30F);
    ASSERT_EQ(kadam_join(of.optimizer, training.x.data(), door.data(), nullptr, 2, 1, &ranks, &of.error),
              KADAM_SUCCESS)
        << of.error.text;
    EXPECT_STREQ(kadam_words(of.optimizer), "taken in");
  } else {
    ASSERT_EQ(kadam_keep_snapshots(of.optimizer, training.x.data(), 2, 1, nullptr, &of.error), KADAM_SUCCESS);
    while (ranks.ranks < world_size()) {
      ++step;
      ASSERT_EQ(training.take_steps(step, step, world_rank()), KADAM_SUCCESS) << of.error.text;
      if (kadam_has_newcomers(of.optimizer) == 0) continue;
      ASSERT_EQ(kadam_admit(of.optimizer, training.x.data(), "taken in", &ranks, &of.error), KADAM_SUCCESS)
          << of.error.text;
      EXPECT_EQ(ranks.step, step);
    }
  }
  EXPECT_EQ(ranks.rank, world_rank());
  EXPECT_EQ(ranks.ranks, world_size());
  EXPECT_EQ(ranks.lost, 0);
  ASSERT_EQ(training.take_steps(ranks.step + 1, ranks.step + 5, ranks.rank), KADAM_SUCCESS) << of.error.text;
  EXPECT_EQ(kadam_has_newcomers(of.optimizer), 0);
  expect_equal_on(true, training.x);
}

/// MPI as it is here ends the job, or does not tell: the call says so, and what helps.
TEST(CSurvivors, AreRefusedInWordsOverAnMpiThatKnowsOfNone) {
  COptimizer of("adam", {{"lr", 0.01}});
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  std::vector<float> x(static_cast<std::size_t>(c_layout.elements()));
  EXPECT_EQ(kadam_after_step(of.optimizer, x.data(), nullptr, &of.error), KADAM_SUCCESS) << "none are kept";
  ASSERT_EQ(kadam_keep_snapshots(of.optimizer, x.data(), 4, 1, nullptr, &of.error), KADAM_SUCCESS);
  EXPECT_EQ(kadam_go_on(of.optimizer, x.data(), nullptr, &of.error), KADAM_PEER_FAILURE);
  EXPECT_NE(std::string(of.error.text).find("use TCP, or start Open MPI 5"), std::string::npos)
      << of.error.text;
}

}  // namespace
}  // namespace kadam::test
