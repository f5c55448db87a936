// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "training.hpp"

#include <filesystem>
#include <fstream>

namespace gray_scott {

/// Relative errors of a field that the surrogate has not been trained on.
struct Errors {
  double unchanged = 0.0;  ///< of the field before it
  double surrogate = 0.0;
};

/// Sums over all training steps and all jumps beside them.
struct Totals {
  std::int64_t steps = 0;
  std::size_t bytes = 0, planned_bytes = 0, control_bytes = 0;  ///< as in TrainingStep
  double solver_seconds = 0.0;
  double training_seconds = 0.0;
  std::int64_t time_steps = 0;  ///< of solver_seconds
};

/// What rank 0 prints and writes into a folder; other ranks do nothing here.
class Report {
 public:
  /// Says what is going to be run.
  Report(const std::filesystem::path& folder, const Settings& settings, const kadam::Communicator& program,
         const Training& training);

  /// An evaluation while it trains.
  void training(std::int64_t jump, double time, const Errors& errors, double loss, const TrainingStep& last,
                const Totals& totals);
  /// A jump after the training: from the solver's state, and by the surrogate alone since the training ended.
  void unseen(std::int64_t jump, double time, const Errors& one_jump, const Errors& alone,
              std::uint64_t hash);
  void fields(const HostField& truth, const HostField& prediction) const;
  /// The sums, and the parameters.
  void end(const Totals& totals, std::int64_t halo_bytes_per_time_step);

 private:
  bool is_root_;
  std::filesystem::path folder_;
  Settings settings_;
  const Training& training_;
  std::ofstream metrics_;
  Kokkos::Timer timer_;
};

}  // namespace gray_scott
