// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/factored_variance.hpp>
#include <kadam/collectives/background_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/state/state_fields.hpp>

#include <string_view>

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

/// What locally_accumulated_adam and divisible_adam have in common: moments of each rank's own gradients, the
/// direction they give gathered up in a residual, and the largest entries of the residual delivered.
///
/// Clipping: by the norm of the mean gradient in the warm-up, by the root mean square of the ranks' norms
/// afterwards. Tensors kept dense deliver their whole residual, as an exact mean, at every step.
///
/// Every T_v steps the variances of all ranks become their mean: at once, or, with variance_delay = k, in the
/// background, k steps later (DelayedVarianceMean: 8 d + 4 d bytes more). With variance = "factored" the
/// factors of the variance do (FactoredVariance), whose mean is short enough to wait for.
class LocalMomentsAdam : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    std::int64_t warmup_steps = 0;
    double density = 0.01;
    std::int64_t select_block = 4096;
    Variance variance = Variance::own;
    StepsOrAuto variance_sync_interval{0, true};  ///< auto: 50, with a factored variance 10
    std::int64_t variance_delay = 0;
    Progress progress = Progress::thread;  ///< of what travels in the background
    double step_ahead = 0.0;
    SparseExchange exchange = SparseExchange::own;
    std::int64_t value_bits = 32;  ///< 2: SparseValues::two_levels

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const;
    [[nodiscard]] SparseOptions sparse() const {
      return {density, select_block, exchange,
              value_bits == 2 ? SparseValues::two_levels : SparseValues::exact};
    }
    [[nodiscard]] bool factors_variance() const { return variance == Variance::factored; }
    /// T_v
    [[nodiscard]] std::int64_t variance_interval() const {
      if (!variance_sync_interval.automatic) return variance_sync_interval.steps;
      return factors_variance() ? 10 : 50;
    }
    [[nodiscard]] bool delays_variance(const Arrangement& ranks) const {
      return variance_delay > 0 && ranks.ranks > 1;
    }
    /// Adds what the means of the variance cost to the last phase.
    void add_variance_means(const Problem& problem, AlgorithmCost& cost) const;
  };

  LocalMomentsAdam(const Options& options, Workplace& at);
  /// Phases: the warm-up, if there is one, then the compressed steps. Without residuals, which the algorithm
  /// adds.
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void add_health(const ExecutionSpace& exec, Health& health) override;
  [[nodiscard]] DenseMean* next_gradient_mean() override { return warms_up() ? &dense_mean_ : nullptr; }
  /// The warm-up does, in its update, but from a factored variance.
  [[nodiscard]] bool writes_model() const override { return warms_up() && !factors_variance_; }
  void poll_background() override;
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  /// Other algorithms know no factors.
  [[nodiscard]] bool has_dense_state() const override { return owes_nothing() && !factors_variance_; }
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                   const Restoration& restoration) override;

 protected:
  /// Of all background exchanges.
  [[nodiscard]] virtual BackgroundSeconds background_seconds() const;

  [[nodiscard]] bool warms_up() const { return steps_taken() < warmup_steps_; }
  /// Whether all steps so far were those of the warm-up.
  [[nodiscard]] bool owes_nothing() const { return steps_taken() <= warmup_steps_; }
  [[nodiscard]] std::int64_t warmup_steps() const { return warmup_steps_; }
  /// `adam` on the mean gradient, which feeds m and v of every rank.
  void warm_up(Step& step);
  /// m, v by ema of the own g, g^2; v <- mean over ranks if t mod T_v = 0, or k steps later;
  /// residual <- keep residual + gamma (m/c1) / (sqrt(v/c2) + eps).
  void accumulate(Step& step, double keep, const Vector<float>& residual);
  /// x <- (1 - gamma lambda) x - mean of the ranks' largest entries of the residual, which is 0 there
  /// afterwards.
  void deliver_largest(const Step& step, const Vector<float>& residual, const Vector<float>& x);
  [[nodiscard]] DenseMean& dense_mean() { return dense_mean_; }

 private:
  [[nodiscard]] bool is_variance_step(std::int64_t step) const {
    return variance_sync_interval_ > 0 && step > warmup_steps_ && step % variance_sync_interval_ == 0;
  }
  [[nodiscard]] bool arrives_variance(std::int64_t step) const {
    return awaits_variance_ && is_variance_step(step - variance_delay_);
  }
  /// The warm-up's update, and accumulate(), with a factored variance.
  void warm_up_by_factors(Step& step);
  void accumulate_by_factors(const Step& step, const AdamDirectionOf& direction,
                             const Vector<float>& residual);
  /// What a step does with v between its update and its use: the mean at once, or its start, or its end.
  void average_variance(const Step& step);

  std::int64_t warmup_steps_;
  std::int64_t variance_sync_interval_;
  std::int64_t variance_delay_;
  bool delays_variance_;
  bool factors_variance_;
  Moments moments_;  ///< with factors without v
  FactoredVariance factored_variance_;
  DenseMean dense_mean_;
  DenseSubset kept_dense_;
  SparseMean sparse_mean_;
  DelayedVarianceMean variance_mean_;  ///< if it is delayed
  bool awaits_variance_ = false;       ///< it has been started, and is yet to be applied
};

}  // namespace kadam
