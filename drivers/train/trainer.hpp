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
  /// The ranks that train: those that are left, and those that have come.
  [[nodiscard]] const std::shared_ptr<Communicator>& communicator() const { return communicator_; }
  [[nodiscard]] bool has_lost_ranks() const { return has_lost_ranks_; }
  /// Told of every step.
  void watch_with(launch::Watchdog& watchdog) { watchdog_ = &watchdog; }
  void trace_with(trace::Timeline& timeline) { timeline_ = &timeline; }
  /// Records every gradient for kadam-replay. Before run(). Errors: as replay::Recording.
  void record_into(const std::filesystem::path& folder);

  /// For the record.
  void started_by(const Commands& commands) { commands_ = commands; }

  /// Trains, from the newest checkpoint on if that is wanted, or with the ranks that are at work in this
  /// folder already. Rank 0 writes config.toml, run.json, metrics.jsonl and parameters.safetensors into the
  /// folder. Collective. Errors: std::runtime_error when the ranks' parameters are no longer equal, or a
  /// checkpoint can neither be written nor done without.
  RunSummary run(const std::filesystem::path& folder, const CheckpointOptions& checkpoints = {});

 private:
  void open_folder(const std::filesystem::path& folder, bool goes_on);
  [[nodiscard]] RunFacts facts() const;
  void resume(const CheckpointOptions& options);
  void save(const CheckpointOptions& options);
  [[nodiscard]] checkpoint::ProgramState program_state() const;
  /// Makes what belongs to a number of ranks.
  void take_part(std::shared_ptr<Communicator> communicator);
  void train_step(const CheckpointOptions& checkpoints, SaveTimes& times);
  void start_snapshots(const checkpoint::SnapshotOptions& options);
  void take_snapshot();
  /// Takes part in other ranks.
  [[nodiscard]] checkpoint::Snapshots::MakeOptimizer maker();
  /// After a rank has failed.
  void survive(const std::filesystem::path& folder, const CheckpointOptions& options);
  /// Takes in those who ask to join.
  void admit(const std::filesystem::path& folder);
  /// Joins those who train.
  void join(const std::filesystem::path& folder, const CheckpointOptions& options);
  /// With other ranks, after so many seconds of the run.
  void go_on(const std::filesystem::path& folder, double seconds_until_now);
  /// Writes where ranks can be asked to let others in. Collective.
  void show_doors(const std::filesystem::path& folder);
  void close_doors(const std::filesystem::path& folder) const;
  /// With what newcomers have to agree to.
  [[nodiscard]] checkpoint::SnapshotOptions snapshot_options(const CheckpointOptions& options) const;
  /// Restores a snapshot, or a checkpoint where no snapshot is whole; returns which.
  [[nodiscard]] const char* restore_for_those_left(const CheckpointOptions& options);
  /// Where the run stood. False: kadam-train has not written it.
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
  [[nodiscard]] double mean_over_ranks(double value);
  /// Of the run so far, without the time in which it was interrupted.
  [[nodiscard]] double wall_seconds() const { return seconds_of_former_ + timer_.seconds(); }
  /// Whether gradients are announced. One of several batches is never final before the last has been added.
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
  bool has_doors_ = false;  ///< those of these ranks are written
  ExecutionSpace exec_;
  workloads::Batch batch_;
  Vector<float> parameters_;
  Vector<float> consensus_;  ///< what is evaluated: equal on all ranks
  Vector<float> gradient_;
  launch::RoundedGradient rounded_gradient_;  ///< as the optimizer wants it
  Vector<float> micro_gradient_;              ///< of one batch, when several make a step

  std::int64_t step_ = 0;           ///< the last one that was tried, skipped ones included
  double seconds_of_former_ = 0.0;  ///< that the run had taken when it was interrupted
  double snapshot_seconds_ = 0.0;   ///< that steps were held up by snapshots
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
