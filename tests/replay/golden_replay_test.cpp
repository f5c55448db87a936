// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <replay/recorded_gradients.hpp>
#include <replay/replay_case.hpp>
#include <replay/trajectory.hpp>
#include <support/golden_cases.hpp>

#include <gtest/gtest.h>
#include <mpi.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>

/// Without a Python, which a machine that has a GPU may not have: every case of as many ranks as there are.
namespace kadam::replay::golden_replay_test {
namespace {

int ranks_of(const test::GoldenCase& golden) {
  return nlohmann::json::parse(std::ifstream(golden.folder / "case.json"))["ranks"].get<int>();
}

double worst_fraction_off(const test::GoldenCase& golden, const std::shared_ptr<Communicator>& communicator) {
  const ExecutionSpace exec;
  const ReplayCase recorded = read_case(golden.folder, communicator->size());
  RecordedGradients gradients(recorded, communicator->rank());
  Trajectory trajectory(
      exec,
      make_optimizer(recorded.algorithm, recorded.options, recorded.tensors, communicator, recorded.groups),
      recorded.parameters);
  const io::NpyArray expected = io::read_npy(golden.folder / "expected.npy");
  const auto gradient = allocate<float>(exec, "gradient", recorded.tensors.elements());
  const auto host = Kokkos::create_mirror_view(gradient);
  double worst = 0.0;
  for (std::int64_t t = 0; t < gradients.steps(); ++t) {
    gradients.read(t, {host.data(), host.size()});
    Kokkos::deep_copy(exec, gradient, host);
    trajectory.step(exec, gradient);
    const auto got = trajectory.parameters();
    worst =
        std::max(worst, test::fraction_off({got.begin(), got.end()},
                                           test::row(expected, static_cast<std::size_t>(communicator->rank()),
                                                     static_cast<std::size_t>(t)),
                                           recorded.parameters));
  }
  return worst;
}

TEST(GoldenReplay, FollowsEveryRecordedTrajectory) {
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD);
  int replayed = 0;
  for (const test::GoldenCase& golden : test::golden_cases()) {
    if (ranks_of(golden) != communicator->size()) continue;
    EXPECT_LE(worst_fraction_off(golden, communicator), test::fraction_that_may_be_off) << golden.name;
    ++replayed;
  }
  EXPECT_GT(replayed, 0) << "no case was recorded on so many ranks";
}

}  // namespace
}  // namespace kadam::replay::golden_replay_test
