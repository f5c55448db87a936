// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "training.hpp"

#include <filesystem>
#include <fstream>

namespace gray_scott {

/// Relative errors against a field that the surrogate has not been trained on.
struct Errors {
  double unchanged = 0.0;  ///< of an earlier field, as if nothing changed
  double surrogate = 0.0;  ///< of the surrogate's prediction
};

/// Sums over all training steps, and over all time steps of the solver after its spin-up.
struct Totals {
  std::int64_t steps = 0;
  std::size_t bytes = 0, planned_bytes = 0, control_bytes = 0;  ///< as in TrainingStep
  double solver_seconds = 0.0;
  double training_seconds = 0.0;
  std::int64_t time_steps = 0;  ///< time steps that took solver_seconds
};

/// Prints on rank 0 and writes into a folder; on other ranks it does nothing. Refers to `training`.
class Report {
 public:
  /// Prints what is going to be run.
  Report(const std::filesystem::path& folder, const Settings& settings, const kadam::Communicator& program,
         const Training& training);

  /// Reports an evaluation during the training.
  void training(std::int64_t jump, double time, const Errors& errors, double loss, const TrainingStep& last,
                const Totals& totals);
  /// Reports a jump after the training. one_jump: errors of a prediction from the solver's state before the
  /// jump. alone: errors of the surrogate's own field, which started at the end of the training. hash: of the
  /// parameters.
  void unseen(std::int64_t jump, double time, const Errors& one_jump, const Errors& alone,
              std::uint64_t hash);
  /// Writes both fields at the end: truth.npy and prediction.npy.
  void fields(const HostField& truth, const HostField& prediction) const;
  /// Prints the sums and writes the parameters.
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
