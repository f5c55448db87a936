// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/shared_folder.hpp>
#include <trace/timeline.hpp>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>

namespace kadam::trace {
namespace {

TEST(MeasureOffset, FindsClocksThatDifferBySeconds) {
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD);
  const Recorder recorder;
  // The ranks of a test share one steady clock: they are told another.
  const double behind = 5.0 * communicator->rank();
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  const ClockOffset offset = measure_offset(*communicator, [&] { return now() - behind; });
  EXPECT_NEAR(offset.seconds, behind, offset.error + 1e-9);
  EXPECT_LT(offset.error, 0.5);
}

/// [rank] of all the messages of one name.
std::vector<std::int64_t> bytes_of(const nlohmann::json& trace, const std::string& name, int ranks) {
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(ranks), 0);
  for (const nlohmann::json& event : trace.at("traceEvents")) {
    if (event.at("name") == name)
      bytes.at(event.at("pid").get<std::size_t>()) += event.at("args").at("bytes").get<std::int64_t>();
  }
  return bytes;
}

TEST(Timeline, HoldsEveryMessageOfAllRanksAndSaysWhatWasSent) {
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD);
  const test::SharedFolder folder;
  const std::filesystem::path path = folder.path() / "trace.json";
  const ExecutionSpace exec;
  constexpr std::int64_t d = 100003;
  const auto values = allocate_zeros<float>(exec, "values", d);
  DenseMean mean(exec, *communicator, d);
  Phases phases;
  const auto sent = [&] {
    return static_cast<std::int64_t>(communicator->bytes_sent().sent(Traffic::dense));
  };
  {
    Timeline timeline(communicator, {2, 2});
    for (std::int64_t step = 1; step <= 3; ++step) {
      timeline.at_step(step);
      (void)mean(exec, phases, values);
    }
    EXPECT_EQ(timeline.write(path), 0U);
  }
  EXPECT_EQ(sent() % 3, 0);
  const double of_a_step = static_cast<double>(sent()) / 3.0;
  const std::vector<double> of_ranks = communicator->all_gather_values({&of_a_step, 1});
  const nlohmann::json trace = nlohmann::json::parse(std::ifstream(path));
  const std::vector<std::int64_t> sends = bytes_of(trace, "send", communicator->size());
  const std::vector<std::int64_t> receives = bytes_of(trace, "receive", communicator->size());
  EXPECT_EQ(sends, std::vector<std::int64_t>(of_ranks.begin(), of_ranks.end()));
  EXPECT_EQ(std::accumulate(sends.begin(), sends.end(), std::int64_t{0}),
            std::accumulate(receives.begin(), receives.end(), std::int64_t{0}));
  // Nobody is told any more.
  (void)mean(exec, phases, values);
}

TEST(Timeline, SaysWhichFileCannotBeWritten) {
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD);
  Timeline timeline(communicator);
  try {
    (void)timeline.write("/nowhere/trace.json");
    ADD_FAILURE() << "it was written";
  } catch (const std::runtime_error& error) {
    const std::string expected =
        communicator->rank() == 0 ? "/nowhere/trace.json: cannot be written" : "rank 0";
    EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace kadam::trace
