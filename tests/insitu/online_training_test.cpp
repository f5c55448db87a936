// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gray_scott/solver.hpp>
#include <gray_scott/training.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/mpi_world.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <vector>

namespace kadam::test {
namespace {

gray_scott::Settings small_settings(const std::string& optimizer) {
  gray_scott::Settings settings;
  settings.solver.width = 24;
  settings.solver.height = 20;
  settings.solver.spots = 3;
  settings.surrogate.radius = 1;
  settings.surrogate.hidden = {16};
  settings.training.batch = 16;
  settings.optimizer.name = optimizer;
  const OptimizerTraits& traits = optimizer_traits(optimizer);
  if (!traits.warmup.empty()) settings.optimizer.options[traits.warmup] = 8;
  return settings;
}

/// Trains beside a solver for a while; the parameters in the end.
std::vector<float> train(const std::string& optimizer) {
  const gray_scott::Settings settings = small_settings(optimizer);
  const ExecutionSpace exec;
  const auto program = make_mpi_communicator(MPI_COMM_WORLD);
  const gray_scott::Slab slab(MPI_COMM_WORLD, 24, 20, 1, false);
  gray_scott::Solver solver(exec, settings.solver, slab);
  gray_scott::History history(exec, slab, 4);
  gray_scott::Training training(exec, settings, slab,
                                gray_scott::make_training_communicator(MPI_COMM_WORLD, false));
  solver.start_from(exec, gray_scott::spots_and_noise(settings.solver));
  history.add(exec, solver.field());
  for (int jump = 0; jump < 6; ++jump) {
    solver.advance(exec, 10);
    history.add(exec, solver.field());
    if (jump == 0) {
      training.set_scaling(
          gray_scott::Scaling::of_jump(exec, *program, slab, history.second_newest(), history.newest()));
    }
    for (int k = 0; k < 5; ++k) {
      const gray_scott::TrainingStep step = training.step(exec, history);
      EXPECT_FALSE(step.result.skipped);
      EXPECT_EQ(step.bytes, step.planned_bytes) << optimizer << ", step " << step.result.step;
    }
  }
  training.finish(exec);
  training.update_consensus(exec);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, training.consensus());
  return {host.data(), host.data() + host.size()};
}

TEST(Training, LeavesTheSameParametersOnAllRanksAndSendsWhatThePlanSays) {
  const std::vector<float> dense = train("adam");
  for (const std::string& optimizer : optimizer_names()) {
    const std::vector<float> parameters = train(optimizer);
    EXPECT_TRUE(bitwise_equal(parameters, from_rank_zero(parameters))) << optimizer;
    EXPECT_TRUE(bitwise_equal(parameters, train(optimizer))) << optimizer << ": not reproducible";
    if (make_mpi_communicator(MPI_COMM_WORLD)->size() == 1) continue;  // with nothing to send some are Adam
    EXPECT_EQ(bitwise_equal(parameters, dense), optimizer == "adam") << optimizer;
  }
}

}  // namespace
}  // namespace kadam::test
