// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/background_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/scripted_transport.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

namespace kadam {
namespace {

class BackgroundMeanTest : public testing::TestWithParam<std::tuple<Progress, Staging>> {
 protected:
  const Progress progress_ = std::get<0>(GetParam());
  std::shared_ptr<Communicator> communicator_ =
      make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(std::get<1>(GetParam())));
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();
  ExecutionSpace exec_;
  Phases phases_;

  BackgroundMean make(std::int64_t d) { return {exec_, communicator_, ChunkLayout(d, size_), progress_}; }
  std::vector<float> dense(std::int64_t d, const Vector<const float>& values) {
    DenseMean mean(exec_, *communicator_, d);
    return test::to_host(mean(exec_, phases_, values));
  }
};

/// Exchanges in the foreground come in between, as they do in training.
TEST_P(BackgroundMeanTest, HasTheBitsOfTheDenseMean) {
  for (const std::int64_t d : {1, 63, 301, 5000}) {
    BackgroundMean background = make(d);
    EXPECT_EQ(test::to_host(background.mean(exec_)), std::vector<float>(static_cast<std::size_t>(d), 0.0F));
    for (std::int64_t t = 1; t <= 3; ++t) {
      const auto values = test::to_device(test::random_gradient(d, rank_, t));
      const std::size_t before = communicator_->bytes_sent().sent(Traffic::background);
      background.start(exec_, values);
      EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::background) - before,
                background_mean_cost(communicator_->arrangement(), d).bytes(Traffic::background));
      const std::vector<float> expected = dense(d, values);
      background.poll();
      const auto first = test::to_host(background.mean(exec_));
      EXPECT_TRUE(test::bitwise_equal(first, expected)) << "d " << d << " exchange " << t;
      EXPECT_TRUE(test::bitwise_equal(test::to_host(background.mean(exec_)), expected)) << "asked again";
    }
    background.reset(exec_);
    EXPECT_EQ(test::to_host(background.mean(exec_)), std::vector<float>(static_cast<std::size_t>(d), 0.0F));
  }
}

/// Nobody waits for what travelled while the program was busy.
TEST_P(BackgroundMeanTest, TravelsWhileTheProgramIsBusy) {
  if (size_ == 1) GTEST_SKIP() << "one rank sends nothing";
  const std::int64_t d = 20000;
  BackgroundMean background = make(d);
  const auto values = test::to_device(test::random_gradient(d, rank_, 1));
  background.start(exec_, values);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int part = 0; part < 400; ++part) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    background.poll();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  (void)background.mean(exec_);
  EXPECT_EQ(background.seconds().exchanges, 1);
  EXPECT_GT(background.seconds().running, 0.0);
  if (progress_ == Progress::none) {
    EXPECT_EQ(background.seconds().hidden_fraction(), 0.0);
  } else {
    EXPECT_GT(background.seconds().hidden_fraction(), 0.0);
  }
}

TEST_P(BackgroundMeanTest, IsCompletedWhenItIsDestroyed) {
  const auto values = test::to_device(test::random_gradient(5000, rank_, 1));
  make(5000).start(exec_, values);
  BackgroundMean background = make(5000);
  background.start(exec_, values);
  EXPECT_TRUE(test::bitwise_equal(test::to_host(background.mean(exec_)), dense(5000, values)));
}

TEST_P(BackgroundMeanTest, RefusesASecondStart) {
  if (size_ == 1) GTEST_SKIP() << "one rank sends nothing";
  const auto values = test::to_device(test::random_gradient(301, rank_, 1));
  BackgroundMean background = make(301);
  background.start(exec_, values);
  EXPECT_THROW(background.start(exec_, values), std::logic_error);
}

INSTANTIATE_TEST_SUITE_P(AllWays, BackgroundMeanTest,
                         testing::Combine(testing::Values(Progress::thread, Progress::poll, Progress::none),
                                          testing::Values(Staging::automatic, Staging::always)));

TEST(BackgroundMean, SaysWhatAThreadNeeds) {
  const auto communicator = std::make_shared<Communicator>(std::make_unique<test::ScriptedTransport>(0, 2));
  try {
    (void)BackgroundMean(ExecutionSpace{}, communicator, ChunkLayout(100, 2), Progress::thread);
    FAIL() << "accepted a transport without threads";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("needs MPI_THREAD_MULTIPLE"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW((void)BackgroundMean(ExecutionSpace{}, communicator, ChunkLayout(100, 2), Progress::poll));
}

std::string words_of_failure(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing failed";
}

/// In the thread, in poll() or in mean().
TEST(BackgroundMean, StaysFailedOnceAnExchangeHasFailed) {
  const ExecutionSpace exec;
  const auto values = test::to_device(test::random_gradient(100, 0, 1));
  for (const Progress progress : {Progress::thread, Progress::poll, Progress::none}) {
    auto transport = std::make_unique<test::ScriptedTransport>(0, 2, true);
    transport->will_fail("the link is down");
    const auto communicator = std::make_shared<Communicator>(std::move(transport));
    BackgroundMean background(exec, communicator, ChunkLayout(100, 2), progress);
    const auto start = [&] { background.start(exec, values); };
    const auto mean = [&] { (void)background.mean(exec); };
    EXPECT_EQ(words_of_failure([&] { start(), mean(); }), "the link is down");
    EXPECT_EQ(words_of_failure(start), "the link is down");
    EXPECT_EQ(words_of_failure(mean), "the link is down");
    EXPECT_EQ(background.seconds().exchanges, 0);
  }
}

}  // namespace
}  // namespace kadam
