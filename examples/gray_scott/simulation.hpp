// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "report.hpp"
#include "solver.hpp"
#include "training.hpp"

#include <filesystem>
#include <memory>

namespace gray_scott {

/// A solver and the training of its surrogate, taking turns: a jump of the solver, some optimizer steps on
/// what it has computed lately. Then the solver goes on and the surrogate is judged.
class Simulation {
 public:
  /// `program` says who the ranks are and whether messages are staged. Collective. Errors: as all that it is
  /// made of.
  Simulation(const Settings& settings, MPI_Comm ranks, std::shared_ptr<kadam::Communicator> program);

  /// Rank 0 writes metrics.jsonl, parameters.safetensors, truth.npy and prediction.npy into the folder, and
  /// prints. Collective.
  void run(const std::filesystem::path& folder);

 private:
  void spin_up();
  void advance_one_jump();
  void train(std::int64_t jump, Report& report);
  /// From the state before the newest, against the newest. Collective.
  Errors judge_newest();
  void judge_unseen_jumps(Report& report);

  Settings settings_;
  std::shared_ptr<kadam::Communicator> program_;
  ExecutionSpace exec_;
  Slab slab_;
  Solver solver_;
  History history_;
  Training training_;
  Field prediction_;
  Totals totals_;
};

}  // namespace gray_scott
