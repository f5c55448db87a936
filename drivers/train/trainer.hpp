// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/snapshots.hpp>
#include <kadam/io/json_lines.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <launch/optimizer_steps.hpp>
#include <launch/progress.hpp>
#include <launch/watchdog.hpp>
#include <replay/recording.hpp>
#include <trace/timeline.hpp>
#include <train/configuration.hpp>
#include <train/run_record.hpp>
#include <train/run_statistics.hpp>
#include <train/save_times.hpp>
#include <workloads/sampler.hpp>

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

namespace kadam::train {

/// Trains one model with one optimizer, from its initial parameters to its last evaluation.
class Trainer {
 public:
  /// Collective. Errors: as make_model, make_optimizer and Sampler.
  Trainer(const Configuration& configuration, const std::string& algorithm, const workloads::Dataset& data,
          std::shared_ptr<Communicator> communicator);

  [[nodiscard]] const Optimizer& optimizer() const { return *optimizer_; }
  /// The ranks that train now: without ranks that have failed, with newcomers.
  [[nodiscard]] const std::shared_ptr<Communicator>& communicator() const { return communicator_; }
  [[nodiscard]] bool has_lost_ranks() const { return has_lost_ranks_; }
  /// Tells the watchdog of every step. It must outlive run().
  void watch_with(launch::Watchdog& watchdog) { watchdog_ = &watchdog; }
  /// Tells the timeline of every step. It must outlive run().
  void trace_with(trace::Timeline& timeline) { timeline_ = &timeline; }
  /// Lets run() record every gradient for kadam-replay into this folder. Errors: as replay::Recording.
  void record_into(const std::filesystem::path& folder);

  /// Sets the command lines that run.json names.
  void started_by(const Commands& commands) { commands_ = commands; }

  /// Trains: from the initial parameters, from a checkpoint (checkpoints.resume), or by joining the ranks
  /// that train into this folder (checkpoints.joins). Rank 0 writes config.toml, run.json, metrics.jsonl and
  /// parameters.safetensors into the folder. Collective. Errors: std::runtime_error when the ranks'
  /// parameters are no longer equal, or a checkpoint can neither be written nor done without.
  RunSummary run(const std::filesystem::path& folder, const CheckpointOptions& checkpoints = {});

 private:
  void open_folder(const std::filesystem::path& folder, bool goes_on);
  [[nodiscard]] RunFacts facts() const;
  void resume(const CheckpointOptions& options);
  void save(const CheckpointOptions& options);
  [[nodiscard]] checkpoint::ProgramState program_state() const;
  /// Makes all that depends on the number of ranks (optimizer, sampler, statistics) for these ranks.
  void take_part(std::shared_ptr<Communicator> communicator);
  void train_step(const CheckpointOptions& checkpoints, SaveTimes& times);
  void start_snapshots(const checkpoint::SnapshotOptions& options);
  void take_snapshot();
  /// Function that snapshots call to make an optimizer for other ranks: take_part().
  [[nodiscard]] checkpoint::Snapshots::MakeOptimizer maker();
  /// Goes on with the ranks that are left after a rank has failed.
  void survive(const std::filesystem::path& folder, const CheckpointOptions& options);
  /// Takes in the processes that ask to join. Collective.
  void admit(const std::filesystem::path& folder);
  /// Joins the ranks that train into this folder.
  void join(const std::filesystem::path& folder, const CheckpointOptions& options);
  /// Starts clock, metrics and progress anew with other ranks; the run has taken `seconds_until_now` before.
  void go_on(const std::filesystem::path& folder, double seconds_until_now);
  /// Writes doors.txt: the addresses at which newcomers can ask to join. Collective.
  void show_doors(const std::filesystem::path& folder);
  void close_doors(const std::filesystem::path& folder) const;
  /// Snapshot options, with the configuration that newcomers have to agree to.
  [[nodiscard]] checkpoint::SnapshotOptions snapshot_options(const CheckpointOptions& options) const;
  /// Restores a snapshot, or the newest checkpoint where no snapshot is whole; returns which, in words.
  [[nodiscard]] const char* restore_for_those_left(const CheckpointOptions& options);
  /// Sets step, sampler and statistics to those of the saved run. Returns false if kadam-train has not
  /// written them.
  [[nodiscard]] bool adopt(const checkpoint::ProgramState& program);
  void adopt(const checkpoint::Restored& restored);
  void adopt(const checkpoint::Snapshots::Restored& restored);
  double accumulate_gradient(bool is_timed);
  void use_while_computing(const ElementRange& range);
  std::uint32_t take_step(std::int64_t step, std::uint32_t wishes);
  void log(const StepResult& result, std::int64_t step);
  void evaluate(std::int64_t step);
  void write_parameters(const std::filesystem::path& folder) const;
  void summarise();
  [[nodiscard]] io::Metrics health();
  /// Mean of the finite losses of all ranks; NaN if there is none. Collective.
  [[nodiscard]] double mean_loss(const StepWindow& window);
  /// Seconds that the run has taken so far, without the time between its interruption and its next start.
  [[nodiscard]] double wall_seconds() const { return seconds_of_former_ + timer_.seconds(); }
  /// Whether gradients are announced while they are computed. The mean of several batches cannot be: it is
  /// final only when the last batch has been added.
  [[nodiscard]] bool overlaps() const {
    return configuration_.training.overlap && configuration_.training.accumulate == 1;
  }
  [[nodiscard]] bool is_root() const { return communicator_->rank() == 0; }

  Configuration configuration_;
  std::string algorithm_;
  const workloads::Dataset& data_;
  std::shared_ptr<Communicator> communicator_;
  std::unique_ptr<workloads::Model> model_;
  std::unique_ptr<Optimizer> optimizer_;
  std::optional<workloads::Sampler> sampler_;
  std::optional<checkpoint::Snapshots> snapshots_;
  bool has_lost_ranks_ = false;
  bool has_doors_ = false;  ///< doors.txt holds the addresses of the present ranks
  ExecutionSpace exec_;
  workloads::Batch batch_;
  Vector<float> parameters_;
  Vector<float> consensus_;  ///< parameters that are evaluated: equal on all ranks
  Vector<float> gradient_;
  launch::RoundedGradient rounded_gradient_;  ///< in the format that the optimizer takes
  Vector<float> micro_gradient_;              ///< of one batch, when several make a step

  std::int64_t step_ = 0;           ///< the last one that was tried, skipped ones included
  double seconds_of_former_ = 0.0;  ///< time that the run took before its last interruption
  double snapshot_seconds_ = 0.0;   ///< time that snapshots held up steps
  Kokkos::Timer timer_;

  launch::Watchdog* watchdog_ = nullptr;
  trace::Timeline* timeline_ = nullptr;
  std::unique_ptr<replay::Recording> recording_;
  std::unique_ptr<io::JsonLinesWriter> metrics_;
  Commands commands_;
  std::set<std::string> warned_;  ///< kinds of warnings that were given
  std::optional<launch::Progress> progress_;
  RunStatistics statistics_;
  RunSummary summary_;
};

}  // namespace kadam::train
