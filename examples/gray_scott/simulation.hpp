// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "report.hpp"
#include "solver.hpp"
#include "training.hpp"

#include <filesystem>
#include <memory>

namespace gray_scott {

/// Runs a solver and the training of its surrogate in turns: a jump of the solver, then some optimizer steps
/// on its last states. After the training the solver goes on, and the surrogate is evaluated.
class Simulation {
 public:
  /// ranks, program: the same ranks, for halos and training and for small exchanges; `program` also decides
  /// whether messages are staged. Collective. Errors: as those of Slab, Solver and Training.
  Simulation(const Settings& settings, MPI_Comm ranks, std::shared_ptr<kadam::Communicator> program);

  /// Rank 0 writes metrics.jsonl, parameters.safetensors, truth.npy and prediction.npy into the folder, and
  /// prints. Collective.
  void run(const std::filesystem::path& folder);

 private:
  void spin_up();
  void advance_one_jump();
  void train(std::int64_t jump, Report& report);
  /// Errors of a prediction of the newest state from the one before. Collective.
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
