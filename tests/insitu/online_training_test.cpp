// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/gray_scott.hpp>
#include <insitu/online_training.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/mpi_world.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

namespace kadam::test {
namespace {

insitu::Settings small_settings(const std::string& optimizer, const OptionMap& options) {
  insitu::Settings settings;
  settings.solver.width = 24;
  settings.solver.height = 20;
  settings.solver.spots = 3;
  settings.surrogate.radius = 1;
  settings.surrogate.hidden = {16};
  settings.training.batch = 16;
  settings.optimizer.name = optimizer;
  settings.optimizer.options = options;
  return settings;
}

std::vector<float> parameters_of(const insitu::OnlineTraining& training) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, training.consensus());
  return {host.data(), host.data() + host.size()};
}

/// Trains beside a solver for a while; the parameters in the end.
std::vector<float> train(const std::string& optimizer, const OptionMap& options) {
  const insitu::Settings settings = small_settings(optimizer, options);
  const ExecutionSpace exec;
  const auto program = make_mpi_communicator(MPI_COMM_WORLD);
  const insitu::ProcessGrid grid(insitu::Decomposition(program->size(), 24, 20), *program);
  insitu::GrayScott solver(exec, settings.solver, grid);
  insitu::HaloExchange exchange(exec, grid, 1);
  insitu::History history(exec, grid.block(), 4, 1);
  insitu::OnlineTraining training(exec, settings, grid.block(), insitu::make_training_communicator(*program));
  solver.start_from(exec, insitu::spots_and_noise(settings.solver));
  history.add(exec, solver.field(), 1, exchange);
  for (int jump = 0; jump < 6; ++jump) {
    solver.advance(exec, 10);
    history.add(exec, solver.field(), 1, exchange);
    if (jump == 0) {
      training.set_scaling(insitu::Scaling::of_jump(exec, *program, grid.block(), history.second_newest(),
                                                    history.newest(), 1));
    }
    for (int k = 0; k < 5; ++k) {
      const insitu::OnlineStep step = training.step(exec, history);
      EXPECT_FALSE(step.result.skipped);
      EXPECT_EQ(step.bytes, step.planned_bytes) << optimizer << ", step " << step.result.step;
      EXPECT_EQ(step.bytes > 0, program->size() > 1 && step.result.synchronised) << optimizer;
    }
  }
  training.finish(exec);
  training.update_consensus(exec);
  return parameters_of(training);
}

TEST(OnlineTraining, LeavesTheSameParametersOnAllRanksAndSendsWhatThePlanSays) {
  constexpr std::int64_t warmup = 8;
  const std::vector<std::pair<std::string, OptionMap>> cases = {
      {"adam", {}},
      {"onebit_adam", {{"warmup_steps", warmup}}},
      {"zero_one_adam", {{"variance_freeze_step", warmup}}},
      {"efficient_adam", {}}};
  std::vector<std::vector<float>> results;
  for (const auto& [optimizer, options] : cases) {
    results.push_back(train(optimizer, options));
    EXPECT_TRUE(bitwise_equal(results.back(), from_rank_zero(results.back()))) << optimizer;
    EXPECT_TRUE(bitwise_equal(results.back(), train(optimizer, options)))
        << optimizer << ": not reproducible";
  }
  EXPECT_FALSE(bitwise_equal(results[0], results[1]));
}

}  // namespace
}  // namespace kadam::test
