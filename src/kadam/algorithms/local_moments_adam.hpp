// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/factored_variance.hpp>
#include <kadam/collectives/background_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/kernels/adam_direction.hpp>
#include <kadam/state/state_fields.hpp>

#include <string_view>

namespace kadam {

/// The mean over ranks of their variances, taken in the background and applied a fixed number of steps later.
///
///   step t:      s <- v, and the mean of s starts
///   step t + k:  v <- max(0, v + beta2^k (mean - s)), after v has been updated
///
/// Between the two steps each rank updates its v with its own gradients, and these updates are kept: but for
/// rounding, v becomes what it would be if the mean had replaced it at step t.
///
/// Memory: 4 d state bytes, and BackgroundMean's. Wire: 2 (n - 1)/n 4 d bytes per mean, in the background.
class DelayedVarianceMean {
 public:
  DelayedVarianceMean() = default;
  /// For more than one rank. Errors: as BackgroundMean.
  DelayedVarianceMean(const ExecutionSpace& exec, const std::shared_ptr<Communicator>& communicator,
                      std::int64_t elements, Progress progress);

  /// Copies v to s, and starts the mean of s. Collective.
  void start(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& v);
  /// Corrects v by the mean, k steps after start(); kept = beta2^k. Waits for the mean if it has not arrived.
  /// Collective.
  void apply(const ExecutionSpace& exec, Phases& phases, double kept, const Vector<float>& v);
  /// Describes s and its mean, for which it waits.
  void describe_state(const ExecutionSpace& exec, StateFields& fields) {
    fields.of_each_rank("variance_snapshot", snapshot_);
    fields.equal("variance_mean", mean_.settled(exec));
  }
  /// Moves the mean on without waiting, with Progress::poll.
  void poll() { mean_.poll(); }

  [[nodiscard]] const BackgroundSeconds& seconds() const { return mean_.seconds(); }

 private:
  Vector<float> snapshot_;  ///< s
  BackgroundMean mean_;     ///< of s
};

/// The common part of locally_accumulated_adam and divisible_adam: each rank keeps moments of its own
/// gradients, adds up the direction that they give in a residual, and delivers the largest entries of the
/// residual.
///
/// Clipping: by the norm of the mean gradient in the warm-up, by the root mean square of the ranks' norms
/// afterwards. Tensors kept dense deliver their whole residual, as an exact mean, at every step.
///
/// Every T_v = variance_sync_interval steps the variances of all ranks are replaced by their mean: at once,
/// or, where k = variance_delay is not 0, k steps later, with the mean taken in the background
/// (DelayedVarianceMean: 12 d bytes more). With a factored variance the factors are replaced by their means
/// (FactoredVariance), which are short enough to wait for.
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
    Progress progress = Progress::thread;  ///< what moves background exchanges on
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
    /// T_v; 0: never.
    [[nodiscard]] std::int64_t variance_interval() const {
      if (!variance_sync_interval.automatic) return variance_sync_interval.steps;
      return factors_variance() ? 10 : 50;
    }
    [[nodiscard]] bool delays_variance(const Arrangement& ranks) const {
      return variance_delay > 0 && ranks.ranks > 1;
    }
    /// Adds the cost of the means of the variance: their exchanges to the last phase, and their memory.
    void add_variance_means(const Problem& problem, AlgorithmCost& cost) const;
  };

  LocalMomentsAdam(const Options& options, Workplace& at);
  /// Phases: the warm-up, if there is one, then the compressed steps. Without residuals, whose cost the
  /// derived class adds.
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void add_health(const ExecutionSpace& exec, Health& health) override;
  [[nodiscard]] DenseMean* next_gradient_mean() override { return warms_up() ? &dense_mean_ : nullptr; }
  /// Only the update of the warm-up writes the model, and not with a factored variance.
  [[nodiscard]] bool writes_model() const override { return warms_up() && !factors_variance_; }
  void poll_background() override;
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  /// Not with factors, which other algorithms do not know.
  [[nodiscard]] bool has_dense_state() const override { return owes_nothing() && !factors_variance_; }
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                   const Restoration& restoration) override;

 protected:
  /// The times of all background exchanges together.
  [[nodiscard]] virtual BackgroundSeconds background_seconds() const;

  [[nodiscard]] bool warms_up() const { return steps_taken() < warmup_steps_; }
  /// Whether all steps so far were those of the warm-up.
  [[nodiscard]] bool owes_nothing() const { return steps_taken() <= warmup_steps_; }
  [[nodiscard]] std::int64_t warmup_steps() const { return warmup_steps_; }
  /// Takes a step of `adam` with the mean gradient, which updates m and v on every rank.
  void warm_up(Step& step);
  /// Updates m and v with the rank's own g; if t mod T_v = 0, or k steps later, v <- mean over ranks; then
  /// residual <- keep residual + gamma (m/c1) / (sqrt(v/c2) + eps). Collective.
  void accumulate(Step& step, double keep, const Vector<float>& residual);
  /// x <- (1 - gamma lambda) x - mean over ranks of the largest entries of their residuals; what is sent is
  /// taken out of the residual. Tensors kept dense deliver their whole residual. Collective.
  void deliver_largest(const Step& step, const Vector<float>& residual, const Vector<float>& x);
  [[nodiscard]] DenseMean& dense_mean() { return dense_mean_; }

 private:
  [[nodiscard]] bool is_variance_step(std::int64_t step) const {
    return variance_sync_interval_ > 0 && step > warmup_steps_ && step % variance_sync_interval_ == 0;
  }
  [[nodiscard]] bool arrives_variance(std::int64_t step) const {
    return awaits_variance_ && is_variance_step(step - variance_delay_);
  }
  /// warm_up() with a factored variance.
  void warm_up_by_factors(Step& step);
  /// accumulate() with a factored variance; direction: the rule that adds to the residual.
  void accumulate_by_factors(const Step& step, const AdamDirectionOf& direction,
                             const Vector<float>& residual);
  /// Averages v over ranks, after v was updated and before it is used. With a delay it starts the mean, or
  /// applies the one that was started k steps before. Collective.
  void average_variance(const Step& step);

  std::int64_t warmup_steps_;
  std::int64_t variance_sync_interval_;
  std::int64_t variance_delay_;
  bool delays_variance_;
  bool factors_variance_;
  Moments moments_;  ///< v is empty with a factored variance
  FactoredVariance factored_variance_;
  DenseMean dense_mean_;
  DenseSubset kept_dense_;
  SparseMean sparse_mean_;
  DelayedVarianceMean variance_mean_;  ///< only with a delay
  bool awaits_variance_ = false;       ///< a delayed mean was started and not yet applied
};

}  // namespace kadam
