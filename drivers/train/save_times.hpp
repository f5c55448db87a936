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

/// Whether, where and how often a run is saved, and what it goes on from.
struct CheckpointOptions {
  std::filesystem::path folder;                 ///< empty: nothing is saved
  std::int64_t every_steps = 0;                 ///< 0: not by steps
  double every_seconds = 0.0;                   ///< 0: not by time
  int keep = 2;                                 ///< newest checkpoints that stay; 0: all
  bool goes_on_unsaved = false;                 ///< after one that could not be written
  std::string resume;                           ///< empty, "auto", or the folder of one checkpoint
  checkpoint::SnapshotOptions snapshots{0, 1};  ///< every 0: none
  bool admits = false;                          ///< newcomers, at snapshots
  bool joins = false;                           ///< ranks that are at work
  double walltime_seconds = 0.0;                ///< of the program, after which it saves and ends; 0: none

  /// Reads "500" (steps) or "15min" into the two above. Errors: UsageError.
  void set_every(const std::string& text);
  /// The options that all ranks have to agree on, in words.
  [[nodiscard]] std::string when_saved() const;
  /// Errors: UsageError for what contradicts itself.
  void validate(bool compares) const;
};

/// When a run is saved: after so many steps, after so much time, before its end is forced, and at its end.
/// The clock is that of rank 0, and a signal may reach any rank: both are told to all with the next step.
class SaveTimes {
 public:
  /// What ranks tell each other with Optimizer::raise().
  enum Wish : std::uint32_t { wish_save = 1, wish_stop = 2 };

  explicit SaveTimes(const CheckpointOptions& options) : options_(options) {}

  /// The wishes of this rank, before a step.
  [[nodiscard]] std::uint32_t wishes(bool has_clock) const;
  /// Whether to save after this step, given the wishes of all.
  [[nodiscard]] bool is_due(std::int64_t step, std::uint32_t raised) const;
  /// Whether to end after it.
  [[nodiscard]] static bool ends(std::uint32_t raised) { return (raised & wish_stop) != 0; }
  void saved() { since_last_.reset(); }

 private:
  CheckpointOptions options_;
  Kokkos::Timer since_last_;
};

/// Seconds since the program started.
[[nodiscard]] double program_seconds();

/// While it lives, these signals do not end the program: it asks whether one has come, and ends at a place of
/// its own choosing. The library installs no handlers; programs do.
///
/// A second signal of the same kind ends the program at once, as without this: nobody has to wait for a step
/// that never ends.
class StopSignals {
 public:
  /// "TERM", "USR1", "SIGINT". Errors: UsageError for a name that is no signal that can be waited for.
  explicit StopSignals(const std::vector<std::string>& names);
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  /// The name of the signal that has come, as in "SIGTERM"; empty while none has.
  [[nodiscard]] static std::string arrived();

 private:
  std::vector<int> numbers_;
};

}  // namespace kadam::train
