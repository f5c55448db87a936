// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <limits>
#include <stdexcept>
#include <string>
#include <unistd.h>
#include <vector>

/// What a host program may rely on beside the numbers: its Views, its output and its signals stay its own.
namespace kadam::embedding_test {
namespace {

constexpr std::int64_t d = 3001;
constexpr std::int64_t steps = 8;
const TensorLayout layout({{"a", 0, 1000}, {"b", 1000, d}});

std::unique_ptr<Optimizer> make(const std::string& name) {
  return make_optimizer(name, test::options_that_agree(name, 3), layout,
                        make_mpi_communicator(MPI_COMM_WORLD));
}

/// Whatever is written to standard output or standard error while it lives goes into a file.
class CaughtOutput {
 public:
  CaughtOutput() {
    std::fflush(nullptr);
    for (std::size_t k = 0; k < streams.size(); ++k) {
      saved_.at(k) = dup(streams.at(k));
      (void)dup2(fileno(file_), streams.at(k));
    }
  }
  ~CaughtOutput() { (void)bytes(); }
  CaughtOutput(const CaughtOutput&) = delete;
  CaughtOutput& operator=(const CaughtOutput&) = delete;

  /// How much it was; from now on output goes where it went before.
  long bytes() {
    std::fflush(nullptr);
    for (std::size_t k = 0; file_ != nullptr && k < streams.size(); ++k) {
      (void)dup2(saved_.at(k), streams.at(k));
      (void)close(saved_.at(k));
    }
    if (file_ != nullptr) {
      bytes_ = static_cast<long>(lseek(fileno(file_), 0, SEEK_END));
      (void)std::fclose(file_);
      file_ = nullptr;
    }
    return bytes_;
  }

 private:
  static constexpr std::array<int, 2> streams = {STDOUT_FILENO, STDERR_FILENO};
  std::FILE* file_ = std::tmpfile();
  std::array<int, 2> saved_{};
  long bytes_ = 0;
};

std::vector<void (*)(int)> signal_handlers() {
  std::vector<void (*)(int)> handlers;
  for (int number = 1; number < 32; ++number) {
    struct sigaction action {};
    if (sigaction(number, nullptr, &action) == 0) handlers.push_back(action.sa_handler);
  }
  return handlers;
}

/// All that a program calls, mistakes included.
void use(const std::string& name) {
  const ExecutionSpace exec;
  const auto optimizer = make(name);
  const auto x = test::to_device(test::random_vector(d, 2));
  const auto consensus = allocate<float>(exec, "consensus", d);
  const auto rank = optimizer->communicator().rank();
  for (std::int64_t t = 1; t <= steps; ++t) {
    auto values = test::random_gradient(d, rank, t);
    if (t == 5 && rank == 0) values[7] = std::numeric_limits<float>::quiet_NaN();
    const auto gradient = test::to_device(values);
    optimizer->gradient_ready(exec, gradient, {0, d / 2});
    (void)optimizer->step(exec, x, gradient);
    optimizer->progress();
  }
  EXPECT_EQ(optimizer->steps_skipped(), 1);
  optimizer->write_consensus(exec, x, consensus);
  (void)optimizer->health(exec);
  EXPECT_THROW((void)optimizer->step(exec, x, allocate<float>(exec, "short", d - 1)), std::invalid_argument);
  EXPECT_THROW((void)make_optimizer(name, {{"nonsense", 1.0}}, layout, Communicator::self()),
               std::invalid_argument);
  optimizer->flush(exec, x);
  exec.fence();
}

class EmbeddingTest : public testing::TestWithParam<std::string> {};

TEST_P(EmbeddingTest, PrintsNothingAndTouchesNoSignal) {
  const auto handlers = signal_handlers();
  CaughtOutput output;
  use(GetParam());
  EXPECT_EQ(output.bytes(), 0);
  EXPECT_EQ(signal_handlers(), handlers);
}

TEST_P(EmbeddingTest, WorksInPlaceOnMemoryOfTheProgram) {
  using Unmanaged = Kokkos::View<float*, MemorySpace, Kokkos::MemoryUnmanaged>;
  constexpr std::int64_t before = 5;  // not aligned to anything but a float
  const ExecutionSpace exec;
  const auto start = test::random_vector(d, 2);
  const auto managed = test::to_device(start);
  std::vector<float> around(static_cast<std::size_t>(d + 2 * before), 42.0F);
  std::copy(start.begin(), start.end(), around.begin() + before);
  const auto memory = test::to_device(around);
  const Unmanaged own(memory.data() + before, static_cast<std::size_t>(d));
  const auto one = make(GetParam());
  const auto other = make(GetParam());
  for (std::int64_t t = 1; t <= steps; ++t) {
    const auto gradient = test::to_device(test::random_gradient(d, one->communicator().rank(), t));
    (void)one->step(exec, managed, gradient);
    (void)other->step(exec, Vector<float>(own), Vector<const float>(gradient));
  }
  exec.fence();
  std::copy_n(test::to_host(managed).begin(), d, around.begin() + before);
  EXPECT_TRUE(test::bitwise_equal(test::to_host(memory), around));
}

/// Also where a part of the gradient is on its way already.
TEST_P(EmbeddingTest, RefusesToStartFromDifferentParameters) {
  const auto optimizer = make(GetParam());
  const Communicator& communicator = optimizer->communicator();
  if (communicator.size() == 1) GTEST_SKIP() << "one rank is like itself";
  const ExecutionSpace exec;
  const bool is_last = communicator.rank() == communicator.size() - 1;
  std::vector<float> start = test::random_vector(d, 2);
  if (is_last) start.back() += 1.0F;
  const auto x = test::to_device(start);
  const auto gradient = test::to_device(test::random_gradient(d, communicator.rank(), 1));
  if (is_last) optimizer->gradient_ready(exec, gradient, {0, d / 2});
  // Ranks of local rounds tell each other at the first one.
  const bool has_rounds = has_option(GetParam(), "sync_interval");
  try {
    for (std::int64_t t = 0; t < (has_rounds ? 64 : 1); ++t) (void)optimizer->step(exec, x, gradient);
    ADD_FAILURE() << "ranks go on apart";
  } catch (const std::invalid_argument& error) {
    const std::string expected =
        "the parameters of rank " + std::to_string(communicator.size() - 1) + " are not";
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
  }
  if (has_rounds) return;
  EXPECT_TRUE(test::bitwise_equal(test::to_host(x), start));
  Kokkos::deep_copy(x, test::to_device(test::random_vector(d, 2)));
  EXPECT_EQ(optimizer->step(exec, x, gradient).step, 1);
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, EmbeddingTest, testing::ValuesIn(optimizer_names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam::embedding_test
