// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/online_training.hpp>
#include <insitu/picture.hpp>
#include <insitu/process_grid.hpp>
#include <kadam/io/json_lines.hpp>
#include <launch/progress.hpp>

#include <filesystem>
#include <memory>
#include <vector>

namespace kadam::insitu {

/// What is known of one jump that the surrogate has not been trained on: relative errors.
struct UnseenJump {
  double time = 0.0;
  double persistence = 0.0;        ///< of "nothing changes" over this jump
  double one_jump = 0.0;           ///< of the surrogate, from the solver's state before it
  double state_persistence = 0.0;  ///< of the state at the end of training
  double rollout = 0.0;            ///< of the surrogate alone since the end of training
};

/// What a finished run was like, on rank 0.
struct Summary {
  std::vector<UnseenJump> unseen;
  UnseenTime last;
  std::int64_t steps = 0;
  std::int64_t skipped_steps = 0;
  std::size_t bytes_sent = 0;     ///< by rank 0 in all training steps, without control traffic
  std::size_t node_bytes = 0;     ///< of these: inside its node, where exchanges have two levels
  std::size_t planned_bytes = 0;  ///< as the optimizer's traffic_plan() has them
  std::size_t control_bytes = 0;
  double dense_bytes_per_step = 0.0;  ///< of a dense float32 mean of the gradients, between nodes
  double solver_seconds = 0.0;        ///< per time step
  double training_seconds = 0.0;      ///< per training step
  std::size_t halo_bytes_per_step = 0;
  std::uint64_t replica_hash = 0;
};

/// A solver and the training of its surrogate, taking turns: a jump of the solver, some optimizer steps on
/// what it has computed lately. Then the solver goes on and the surrogate is judged.
class Simulation {
 public:
  /// Collective. Errors: as all that it is made of.
  Simulation(const Settings& settings, std::shared_ptr<Communicator> program);

  [[nodiscard]] const OnlineTraining& training() const { return training_; }
  [[nodiscard]] const ProcessGrid& grid() const { return grid_; }
  [[nodiscard]] const GrayScott& solver() const { return solver_; }

  /// Rank 0 writes metrics.jsonl and parameters.safetensors into the folder. Collective.
  Summary run(const std::filesystem::path& folder);

 private:
  void spin_up();
  void advance_one_jump();
  void train(std::int64_t jump);
  /// One jump from the state before the newest, against the newest. Collective.
  UnseenJump judge_newest();
  void judge_unseen_jumps();

  // What is written: simulation_output.cpp
  void log(std::int64_t jump, const UnseenJump& errors, double loss, const OnlineStep& last);
  void log_unseen(std::int64_t jump, const UnseenJump& errors);
  void summarise();
  void write_parameters(const std::filesystem::path& folder) const;
  [[nodiscard]] double mean_over_ranks(double value);
  [[nodiscard]] bool is_root() const { return program_->rank() == 0; }

  Settings settings_;
  std::shared_ptr<Communicator> program_;
  ExecutionSpace exec_;
  ProcessGrid grid_;
  GrayScott solver_;
  HaloExchange wide_exchange_;  ///< of the surrogate's radius
  History history_;
  OnlineTraining training_;
  Field prediction_;  ///< with the surrogate's halo, as the states in the history

  double solver_seconds_ = 0.0;
  double training_seconds_ = 0.0;
  std::int64_t time_steps_ = 0;  ///< of these seconds
  launch::Progress progress_;
  std::unique_ptr<io::JsonLinesWriter> metrics_;
  Summary summary_;
};

}  // namespace kadam::insitu
