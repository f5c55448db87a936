// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/checkpoint/snapshots.hpp>

#include <Kokkos_Timer.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kadam::train {

/// Checkpoints and snapshots of a run: where and how often they are made, and which one the run goes on from.
struct CheckpointOptions {
  std::filesystem::path folder;                 ///< empty: nothing is saved
  std::int64_t every_steps = 0;                 ///< 0: not by steps
  double every_seconds = 0.0;                   ///< 0: not by time
  int keep = 2;                                 ///< newest checkpoints that stay; 0: all
  bool goes_on_unsaved = false;                 ///< the run goes on if a checkpoint cannot be written
  std::string resume;                           ///< empty: no; "auto"; or the folder of one checkpoint
  checkpoint::SnapshotOptions snapshots{0, 1};  ///< every 0: none
  bool admits = false;                          ///< takes newcomers in, at snapshots
  bool joins = false;                           ///< joins ranks that train already
  double walltime_seconds = 0.0;                ///< age of the program at which it saves and ends; 0: none

  /// Reads "500" (steps) into every_steps, or "15min" into every_seconds. Errors: UsageError.
  void set_every(const std::string& text);
  /// The options that all ranks, newcomers too, have to agree on, as a command line; empty without a folder.
  [[nodiscard]] std::string when_saved() const;
  /// compares: several optimizers run one after the other. Errors: UsageError for options that contradict
  /// each other.
  void validate(bool compares) const;
};

/// Says when a run is saved: every N steps or seconds, and when a signal or --walltime stops it. (The trainer
/// also saves after the last step.) Time is that of rank 0, and a signal may reach any rank: each step tells
/// all ranks the wishes of each.
class SaveTimes {
 public:
  /// Bits that ranks tell each other with Optimizer::raise().
  enum Wish : std::uint32_t { wish_save = 1, wish_stop = 2 };

  explicit SaveTimes(const CheckpointOptions& options) : options_(options) {}

  /// Wishes of this rank, to be raised before a step. has_clock: this rank's clock counts (rank 0).
  [[nodiscard]] std::uint32_t wishes(bool has_clock) const;
  /// Whether to save after this step. raised: the wishes of all ranks, from StepResult::raised.
  [[nodiscard]] bool is_due(std::int64_t step, std::uint32_t raised) const;
  /// Whether the run ends after this step.
  [[nodiscard]] static bool ends(std::uint32_t raised) { return (raised & wish_stop) != 0; }
  /// Begins to count every_seconds anew.
  void saved() { since_last_.reset(); }

 private:
  CheckpointOptions options_;
  Kokkos::Timer since_last_;
};

/// Seconds since the program started.
[[nodiscard]] double program_seconds();

/// Catches signals while it lives: they do not end the program, which asks with arrived() and ends where it
/// chooses to. The library installs no handlers; programs do.
///
/// A second signal of the same kind ends the program at once, as it does by default, so nobody has to wait
/// for a step that never ends. One object at a time: the signal that has come is global.
class StopSignals {
 public:
  /// names: with or without SIG, as in "TERM", "USR1", "SIGINT". Errors: UsageError for a name that is not
  /// one of the signals that a program can catch here.
  explicit StopSignals(const std::vector<std::string>& names);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// Name of the last signal that has come, as in "SIGTERM"; empty while none has.
  [[nodiscard]] static std::string arrived();

 private:
  std::vector<int> numbers_;
};

}  // namespace kadam::train
