// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/snapshots.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/kernels/content_hash.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/text_hash.hpp>
#include <optim/optimizer_cases.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/newcomers.hpp>
#include <support/random_vectors.hpp>
#include <support/shared_folder.hpp>
#include <support/wires.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <optional>
#include <random>

/// A rank fails, and the others go on from a snapshot. It fails by an exception at one of its sends, wherever
/// that is: in a step, in the background, while a snapshot travels or a checkpoint is written. Then it gives
/// up all that it has, as if its process had ended. scripts/soak.sh --deaths kills processes.
namespace kadam::snapshots_test {
namespace {

using checkpoint::Partners;
using checkpoint::SnapshotLost;
using checkpoint::SnapshotOptions;
using checkpoint::Snapshots;
using test::OptimizerCase;

constexpr std::int64_t d = 1500;
const TensorLayout layout({{"a", 0, 500, {20, 25}}, {"b", 500, d}});

struct Death {};

/// Throws at a send.
class Mortal final : public ExchangeObserver {
 public:
  void dies_after(int sends) { sends_left_ = sends; }
  void exchange_begins(Traffic /*traffic*/) override {}
  void sends(Traffic /*traffic*/, int /*to*/, std::size_t /*bytes*/) override {
    if (sends_left_ >= 0 && sends_left_-- == 0) throw Death();
  }
  void has_arrived(Traffic /*traffic*/, int /*from*/, std::size_t /*bytes*/) override {}
  void exchange_ends(Traffic /*traffic*/) override {}

 private:
  std::atomic<int> sends_left_ = -1;
};

std::shared_ptr<Communicator> connect_by_tcp() {
  return test::Wire{true, Staging::automatic}.connect(1, 30.0);
}

class SnapshotsTest : public testing::TestWithParam<OptimizerCase> {
 protected:
  SnapshotsTest() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks_);
  }

  [[nodiscard]] static std::unique_ptr<Optimizer> make(const std::shared_ptr<Communicator>& communicator) {
    return make_optimizer(GetParam().name, test::options_that_agree(GetParam()), layout, communicator);
  }
  /// Of |x - 1|^2 / 2 and what makes each batch another.
  [[nodiscard]] static Vector<const float> gradient(const Vector<float>& x, int rank, std::int64_t t) {
    std::vector<float> values = test::to_host(x);
    const std::vector<float> noise = test::random_gradient(d, rank, t);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += 0.02F * std::tanh(noise[i]) - 1.0F;
    return test::to_device(values);
  }
  void step(Optimizer& optimizer, const Vector<float>& x) const {
    const std::int64_t t = optimizer.steps_taken() + 1;
    (void)optimizer.step(exec_, x, gradient(x, optimizer.communicator().rank(), t));
    exec_.fence();
  }

  /// All that there is of the state, bit by bit.
  void expect_same_state(Optimizer& got, const Vector<float>& x, Optimizer& wanted,
                         const Vector<float>& of_wanted) const {
    const StateFields a = got.state_to_save(exec_, x);
    const StateFields b = wanted.state_to_save(exec_, of_wanted);
    exec_.fence();
    ASSERT_EQ(a.vectors().size(), b.vectors().size());
    for (std::size_t k = 0; k < a.vectors().size(); ++k) {
      EXPECT_TRUE(
          test::bitwise_equal(test::to_host(a.vectors()[k].values), test::to_host(b.vectors()[k].values)))
          << a.vectors()[k].name;
    }
  }

  const ExecutionSpace exec_;
  int rank_ = 0;
  int ranks_ = 1;
  test::SharedFolder folder_;
};

/// From the middle of a run back to the snapshot, on the same ranks: what follows is the same to the last
/// bit.
TEST_P(SnapshotsTest, GoBackToTheLastBit) {
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD);
  const auto x = test::to_device(std::vector<float>(d, 0.0F));
  std::unique_ptr<Optimizer> optimizer = make(communicator);
  Snapshots snapshots(*optimizer, {7, 3});
  for (int t = 1; t <= 19; ++t) {
    step(*optimizer, x);
    snapshots.after_step(exec_, *optimizer, x, {{"t", std::to_string(t)}});
  }
  const std::vector<float> wanted = test::to_host(x);
  optimizer = make(communicator);
  Kokkos::deep_copy(x, 1e30F);
  const Snapshots::Restored restored = snapshots.restore(exec_, *optimizer, x);
  EXPECT_EQ(restored.step, 14);
  EXPECT_EQ(restored.program.at("t"), "14");
  EXPECT_TRUE(restored.lost.empty());
  for (int t = 15; t <= 19; ++t) step(*optimizer, x);
  EXPECT_TRUE(test::bitwise_equal(test::to_host(x), wanted));
}

/// One rank after the other, down to one or two: as from a checkpoint of the same step, to the last bit.
TEST_P(SnapshotsTest, GoOnWithoutThoseWhoFail) {
  if (ranks_ < 2) GTEST_SKIP() << "needs 2 ranks";
  std::minstd_rand random(static_cast<unsigned>(hash_of(GetParam().title) % 1000000U) +
                          static_cast<unsigned>(ranks_));
  const auto between = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  const auto mortal = std::make_shared<Mortal>();
  std::shared_ptr<Communicator> communicator = connect_by_tcp();
  communicator->observe(mortal);
  auto x = test::to_device(std::vector<float>(d, 0.0F));
  std::unique_ptr<Optimizer> optimizer = make(communicator);
  std::optional<Snapshots> snapshots;
  const SnapshotOptions options{4, between(1, 4)};
  std::map<std::int64_t, std::filesystem::path> saved;
  bool lives = true;
  for (int deaths = 0; lives && deaths < std::min(2, ranks_ - 1); ++deaths) {
    const int ranks = communicator->size();
    const int victim = between(0, ranks - 1);
    const std::int64_t last = optimizer->steps_taken() + between(5, 7);
    const int sends = between(0, 12);
    bool has_failed = false;
    try {
      if (!snapshots) {
        snapshots.emplace(*optimizer, options);
        snapshots->take(exec_, *optimizer, x, {{"step", "0"}});
      }
      for (std::int64_t t = optimizer->steps_taken() + 1; t <= last + 1; ++t) {
        if (t == last && communicator->rank() == victim) mortal->dies_after(sends);
        step(*optimizer, x);
        if (snapshots->is_due(t)) saved[t] = checkpoint::save(exec_, *optimizer, x, folder_.path(), {}, 0);
        snapshots->after_step(exec_, *optimizer, x, {{"step", std::to_string(t)}});
      }
      // It sends too seldom to have died of it.
      if (communicator->rank() == victim) throw Death();
      for (;;) (void)communicator->sum_over_ranks(0.0);
    } catch (...) {
      has_failed = true;
    }
    ASSERT_TRUE(has_failed);
    if (communicator->rank() == victim) {
      lives = false;
      communicator->revoke();
      snapshots.reset();
      optimizer.reset();
      communicator.reset();
      break;
    }
    communicator = optimizer->communicator().survivors();
    EXPECT_EQ(communicator->size(), ranks - 1);
    optimizer = make(communicator);
    Kokkos::deep_copy(x, 1e30F);
    Snapshots::Restored restored;
    ASSERT_NO_THROW(restored = snapshots->restore(exec_, *optimizer, x));
    EXPECT_EQ(restored.lost, std::vector<int>{victim});
    EXPECT_EQ(restored.program.at("step"), std::to_string(restored.step));
    EXPECT_GE(restored.step, last - 8);
    if (restored.step > 0 && saved.contains(restored.step)) {
      const std::unique_ptr<Optimizer> from_files = make(communicator);
      const auto of_files = test::to_device(std::vector<float>(d, -1e30F));
      (void)checkpoint::restore(exec_, *from_files, of_files, saved.at(restored.step));
      expect_same_state(*optimizer, x, *from_files, of_files);
    }
  }
  if (lives) {
    for (int t = 0; t < 3; ++t) {
      step(*optimizer, x);
      snapshots->after_step(exec_, *optimizer, x);
    }
    optimizer->flush(exec_, x);
    exec_.fence();
    const auto hash = static_cast<double>(content_hash(exec_, Vector<const float>(x)) >> 12U);
    for (const double of_rank : communicator->all_gather_values({&hash, 1})) EXPECT_EQ(of_rank, hash);
    for (const float value : test::to_host(x)) ASSERT_TRUE(std::fabs(value) < 10.0F);
  }
}

std::string title(const testing::TestParamInfo<OptimizerCase>& test_info) {
  return test_info.param.title;
}

/// One rank, and one after the other of the rest joins it: as from a checkpoint of the same step on as many
/// ranks, to the last bit, and no step is lost.
TEST_P(SnapshotsTest, TakeNewcomersIn) {
  if (ranks_ < 2) GTEST_SKIP() << "needs 2 ranks";
  test::Newcomers who(1);
  const auto x = test::to_device(std::vector<float>(d, 1e30F));
  std::shared_ptr<Communicator> communicator = std::move(who.old);
  std::unique_ptr<Optimizer> optimizer;
  std::optional<Snapshots> snapshots;
  const SnapshotOptions options{2, 2};
  const auto make_for = [&](std::shared_ptr<Communicator> all) -> Optimizer& {
    communicator = std::move(all);
    optimizer = make(communicator);
    return *optimizer;
  };
  const auto train = [&] {
    step(*optimizer, x);
    snapshots->after_step(exec_, *optimizer, x);
  };
  if (communicator != nullptr) {
    Kokkos::deep_copy(x, 0.0F);
    (void)make_for(communicator);
    snapshots.emplace(*optimizer, options);
  }
  for (int ranks = 1; ranks < ranks_; ++ranks) {
    std::string saved;
    std::int64_t saved_at = 0;
    if (rank_ < ranks) {
      // Some cases know the learning rates of 20 steps.
      while (communicator->sum_over_ranks(static_cast<double>(communicator->newcomers())) == 0.0) {
      }
      do {
        train();
      } while (!snapshots->has_newcomers());
      saved_at = optimizer->steps_taken();
      saved = checkpoint::save(exec_, *optimizer, x, folder_.path(), {}, 0).string();
      const auto restored = snapshots->admit(exec_, *optimizer, x, {{"saved", saved}}, make_for);
      ASSERT_TRUE(restored.has_value());
      EXPECT_EQ(restored->step, saved_at);
      EXPECT_FALSE(snapshots->has_newcomers());
    } else if (rank_ == ranks) {
      snapshots.emplace(options);
      const auto joined = who.join(snapshots->kind_of(*make(Communicator::self())));
      EXPECT_EQ(joined->rank(), ranks);
      const auto restored = snapshots->restore_on(exec_, joined, x, make_for);
      saved = restored.program.at("saved");
    }
    if (rank_ <= ranks) {
      ASSERT_EQ(communicator->size(), ranks + 1);
      const std::unique_ptr<Optimizer> from_files = make(communicator);
      const auto of_files = test::to_device(std::vector<float>(d, -1e30F));
      (void)checkpoint::restore(exec_, *from_files, of_files, saved);
      expect_same_state(*optimizer, x, *from_files, of_files);
      for (int t = 0; t < 3; ++t) train();
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  optimizer->flush(exec_, x);
  exec_.fence();
  const auto hash = static_cast<double>(content_hash(exec_, Vector<const float>(x)) >> 12U);
  for (const double of_rank : communicator->all_gather_values({&hash, 1})) EXPECT_EQ(of_rank, hash);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, SnapshotsTest,
                         testing::ValuesIn(test::cases_for(test::Part::other_ranks)), title);

class SnapshotRules : public SnapshotsTest {};

INSTANTIATE_TEST_SUITE_P(Adam, SnapshotRules, testing::Values(test::dense_cases().front()), title);

/// A second rank fails while the others go back: when it makes its optimizer, or at one of its sends after
/// that.
TEST_P(SnapshotRules, SurviveOneMoreFailureMeanwhile) {
  if (ranks_ < 4) GTEST_SKIP() << "needs 4 ranks";
  // Neither keeps the part of the other.
  constexpr int first = 1;
  constexpr int second = 3;
  for (const int sends : {-1, 0, 1, 3, 6}) {
    const auto mortal = std::make_shared<Mortal>();
    std::shared_ptr<Communicator> communicator = connect_by_tcp();
    communicator->observe(mortal);
    const auto x = test::to_device(std::vector<float>(d, 0.0F));
    std::unique_ptr<Optimizer> optimizer = make(communicator);
    std::optional<Snapshots> snapshots;
    snapshots.emplace(*optimizer, SnapshotOptions{4, 1});
    for (std::int64_t t = 1; t <= 5; ++t) {
      step(*optimizer, x);
      snapshots->after_step(exec_, *optimizer, x, {{"step", std::to_string(t)}});
    }
    const auto end = [&] {
      optimizer->communicator().revoke();
      snapshots.reset();
      optimizer.reset();
      communicator.reset();
    };
    if (rank_ == first) {
      end();
      continue;
    }
    EXPECT_THROW(for (;;)(void) communicator->sum_over_ranks(0.0), PeerFailure);
    const auto make_or_die = [&](std::shared_ptr<Communicator> left) -> Optimizer& {
      communicator = std::move(left);
      optimizer = make(communicator);
      if (rank_ == second && sends < 0) throw Death();
      if (rank_ == second) mortal->dies_after(sends);
      return *optimizer;
    };
    if (rank_ == second) {
      // Where it has sent all before, it dies now.
      try {
        (void)snapshots->go_on(exec_, *optimizer, x, make_or_die);
      } catch (const Death&) {  // NOLINT(bugprone-empty-catch): it is meant to
      }
      end();
      continue;
    }
    Snapshots::Restored restored = snapshots->go_on(exec_, *optimizer, x, make_or_die);
    if (optimizer->communicator().size() == 3) {  // all had gone on before it died
      EXPECT_THROW(for (;;)(void) communicator->sum_over_ranks(0.0), PeerFailure);
      restored = snapshots->go_on(exec_, *optimizer, x, make_or_die);
    }
    EXPECT_EQ(optimizer->communicator().size(), 2);
    EXPECT_EQ(restored.step, 4);
    EXPECT_EQ(restored.program.at("step"), "4");
    step(*optimizer, x);
    const auto hash = static_cast<double>(content_hash(exec_, Vector<const float>(x)) >> 12U);
    for (const double of_rank : communicator->all_gather_values({&hash, 1})) EXPECT_EQ(of_rank, hash);
  }
}

/// A rank fails while newcomers are taken in: at its first send then, or later. The newcomer, or another one.
TEST_P(SnapshotRules, SurviveAFailureWhileNewcomersCome) {
  if (ranks_ < 4) GTEST_SKIP() << "needs 4 ranks";
  for (const int victim : {1, 3}) {
    for (const int sends : {0, 1, 3, 6, 10}) {
      const auto mortal = std::make_shared<Mortal>();
      test::Newcomers who(ranks_ - 1);
      const auto x = test::to_device(std::vector<float>(d, 0.0F));
      std::shared_ptr<Communicator> communicator = who.old;
      std::unique_ptr<Optimizer> optimizer;
      std::optional<Snapshots> snapshots;
      const auto make_and_die = [&](std::shared_ptr<Communicator> all) -> Optimizer& {
        communicator = std::move(all);
        communicator->observe(mortal);
        optimizer = make(communicator);
        if (rank_ == victim) mortal->dies_after(sends);
        return *optimizer;
      };
      try {
        if (who.old) {
          who.old.reset();
          optimizer = make(communicator);
          snapshots.emplace(*optimizer, SnapshotOptions{1, 1});
          while (!snapshots->has_newcomers()) {
            step(*optimizer, x);
            snapshots->after_step(exec_, *optimizer, x);
          }
          (void)snapshots->admit(exec_, *optimizer, x, {{"why", "a test"}}, make_and_die).value();
        } else {
          snapshots.emplace(SnapshotOptions{1, 1});
          const auto restored = snapshots->restore_on(
              exec_, who.join(snapshots->kind_of(*make(Communicator::self()))), x, make_and_die);
          EXPECT_EQ(restored.program.at("why"), "a test");
        }
        if (rank_ == victim) throw Death();  // it had sent all before
      } catch (const Death&) {
        communicator->revoke();
        snapshots.reset();
        optimizer.reset();
        communicator.reset();
        continue;
      }
      if (communicator->size() == ranks_) {  // all had gone on before it died
        EXPECT_THROW(for (;;)(void) communicator->sum_over_ranks(0.0), PeerFailure);
        (void)snapshots->go_on(exec_, *optimizer, x, make_and_die);
      }
      EXPECT_EQ(communicator->size(), ranks_ - 1);
      step(*optimizer, x);
      const auto hash = static_cast<double>(content_hash(exec_, Vector<const float>(x)) >> 12U);
      for (const double of_rank : communicator->all_gather_values({&hash, 1})) EXPECT_EQ(of_rank, hash);
    }
  }
}

/// Who asks and gives up before it is let in changes nothing: no step is lost, and nobody asks again.
TEST_P(SnapshotRules, GoOnAsBeforeWhereNobodyIsLeftWhoAsks) {
  if (ranks_ < 2) GTEST_SKIP() << "needs 2 ranks";
  test::Newcomers who(ranks_ - 1);
  if (who.old) {
    const auto x = test::to_device(std::vector<float>(d, 0.0F));
    const std::unique_ptr<Optimizer> optimizer = make(who.old);
    Snapshots snapshots(*optimizer, {1, 1});
    while (!snapshots.has_newcomers()) {
      step(*optimizer, x);
      snapshots.after_step(exec_, *optimizer, x);
    }
    const std::int64_t steps = optimizer->steps_taken();
    const auto no_one = [&](const std::shared_ptr<Communicator>&) -> Optimizer& { return *optimizer; };
    EXPECT_FALSE(snapshots.admit(exec_, *optimizer, x, {}, no_one).has_value());
    EXPECT_FALSE(snapshots.has_newcomers());
    EXPECT_EQ(optimizer->steps_taken(), steps);
    step(*optimizer, x);
  } else {
    EXPECT_THROW((void)who.join("a"), std::invalid_argument);
  }
}

/// A rank and the one that keeps its part.
TEST_P(SnapshotRules, SayThatNoneIsWhole) {
  if (ranks_ < 3) GTEST_SKIP() << "needs 3 ranks";
  std::shared_ptr<Communicator> communicator = connect_by_tcp();
  const auto x = test::to_device(std::vector<float>(d, 0.0F));
  std::unique_ptr<Optimizer> optimizer = make(communicator);
  std::optional<Snapshots> snapshots;
  snapshots.emplace(*optimizer, SnapshotOptions{4, 1});
  EXPECT_THROW(
      {
        const std::unique_ptr<Optimizer> other = make(communicator);
        (void)snapshots->restore(exec_, *other, x);
      },
      SnapshotLost)
      << "none has been taken";
  snapshots->take(exec_, *optimizer, x);
  const std::vector<double> partners = [&] {
    const double own = snapshots->partner();
    return communicator->all_gather_values({&own, 1});
  }();
  EXPECT_FALSE(snapshots->survives_hosts());
  if (rank_ == 1 || rank_ == static_cast<int>(partners[1])) {
    snapshots.reset();
    optimizer.reset();
    communicator.reset();
  } else {
    EXPECT_THROW((void)communicator->sum_over_ranks(0.0), PeerFailure);
    communicator = optimizer->communicator().survivors();
    optimizer = make(communicator);
    EXPECT_THROW((void)snapshots->restore(exec_, *optimizer, x), SnapshotLost);
  }
}

TEST_P(SnapshotRules, RefuseOptionsOutOfRange) {
  const std::unique_ptr<Optimizer> optimizer = make(make_mpi_communicator(MPI_COMM_WORLD));
  for (const SnapshotOptions& options : {SnapshotOptions{0, 1}, {4, 0}, {4, 5}})
    EXPECT_THROW(Snapshots(*optimizer, options), std::invalid_argument);
}

/// Memory and bytes are what the page says: 12 d/n of adam in each part.
TEST_P(SnapshotRules, CostWhatTheySay) {
  const std::unique_ptr<Optimizer> optimizer = make(make_mpi_communicator(MPI_COMM_WORLD));
  const auto x = test::to_device(std::vector<float>(d, 0.0F));
  Snapshots snapshots(*optimizer, {4, 1});
  snapshots.take(exec_, *optimizer, x);
  const auto part = static_cast<std::size_t>(12 * d / ranks_);
  constexpr std::size_t words = 4096;
  const std::size_t parts = ranks_ > 1 ? 2 : 1;
  EXPECT_GE(snapshots.bytes(), parts * (part - 2048));
  EXPECT_LE(snapshots.bytes(), parts * (part + 2048 + words));
  if (ranks_ > 1) {
    EXPECT_GE(snapshots.bytes_sent(), part - 2048);
    EXPECT_LE(snapshots.bytes_sent(), part + 2048 + words);
  }
}

/// Every rank keeps one part; if no host has more than half of the ranks, of a rank on another host.
TEST(SnapshotPartners, LieOnOtherHosts) {
  std::minstd_rand random(7);
  for (int round = 0; round < 2000; ++round) {
    const int ranks = std::uniform_int_distribution<int>(1, 12)(random);
    const int most_hosts = std::uniform_int_distribution<int>(1, ranks)(random);
    std::vector<int> hosts;
    std::map<int, int> sizes;
    int largest = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      hosts.push_back(std::uniform_int_distribution<int>(0, most_hosts - 1)(random));
      largest = std::max(largest, ++sizes[hosts.back()]);
    }
    const Partners partners = Partners::on(hosts);
    EXPECT_EQ(partners.survive_hosts, 2 * largest <= ranks);
    std::vector<int> sorted = partners.of;
    std::sort(sorted.begin(), sorted.end());
    for (int rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(sorted[static_cast<std::size_t>(rank)], rank);
      if (partners.survive_hosts) {
        EXPECT_NE(hosts[static_cast<std::size_t>(partners.of[static_cast<std::size_t>(rank)])],
                  hosts[static_cast<std::size_t>(rank)]);
      }
      if (ranks > 1) {
        EXPECT_NE(partners.of[static_cast<std::size_t>(rank)], rank);
      }
    }
  }
}

}  // namespace
}  // namespace kadam::snapshots_test
