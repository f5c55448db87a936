// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/background_mean.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/state/state_fields.hpp>

namespace kadam {

/// The mean over ranks of their variances, taken in the background and applied a fixed number of steps later.
///
///   step t:      s <- v, and the mean of s starts
///   step t + k:  v <- max(0, v + beta2^k (mean - s)), after v has been updated
///
/// Until then each v goes on by its own gradients, and what came in between stays: but for rounding, v is
/// what it would be had it been replaced by the mean at step t.
///
/// Memory: 4 d state bytes, and BackgroundMean's. Wire: 2 (n - 1)/n 4 d bytes per mean, in the background.
class DelayedVarianceMean {
 public:
  DelayedVarianceMean() = default;
  /// For more than one rank. Errors: as BackgroundMean.
  DelayedVarianceMean(const ExecutionSpace& exec, const std::shared_ptr<Communicator>& communicator,
                      std::int64_t elements, Progress progress);

  /// The first line. Collective.
  void start(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& v);
  /// The second; kept = beta2^k. Waits for the mean if it has not come. Collective.
  void apply(const ExecutionSpace& exec, Phases& phases, double kept, const Vector<float>& v);
  /// Waits for the mean.
  void describe_state(const ExecutionSpace& exec, StateFields& fields) {
    fields.of_each_rank("variance_snapshot", snapshot_);
    fields.equal("variance_mean", mean_.settled(exec));
  }
  /// Moves the mean on, if it is polled.
  void poll() { mean_.poll(); }

  [[nodiscard]] const BackgroundSeconds& seconds() const { return mean_.seconds(); }

 private:
  Vector<float> snapshot_;  ///< s
  BackgroundMean mean_;     ///< of s
};

}  // namespace kadam
