// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/dense_subset.hpp>
#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/optim/optimizer.hpp>

#include <string_view>

namespace kadam {

/// What locally_accumulated_adam and divisible_adam have in common: moments of each rank's own gradients, the
/// direction they give gathered up in a residual, and the largest entries of the residual delivered.
///
/// Clipping: by the norm of the mean gradient in the warm-up, by the root mean square of the ranks' norms
/// afterwards. Tensors kept dense deliver their whole residual, as an exact mean, at every step.
class LocalMomentsAdam : public Optimizer {
 public:
  struct Options {
    CommonOptions common;
    std::int64_t warmup_steps = 0;
    double density = 0.01;
    std::int64_t select_block = 4096;
    std::int64_t variance_sync_interval = 50;
    double step_ahead = 0.0;
    SparseExchange exchange = SparseExchange::own;

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const;
  };

  LocalMomentsAdam(std::string_view name, const Options& options, TensorLayout layout,
                   std::shared_ptr<Communicator> communicator);

  [[nodiscard]] MemoryUse memory() const override;
  [[nodiscard]] std::vector<PlannedTraffic> traffic_plan() const override;

 protected:
  void add_health(const ExecutionSpace& exec, Health& health) override;
  [[nodiscard]] DenseMean* next_gradient_mean() override { return warms_up() ? &dense_mean_ : nullptr; }

  [[nodiscard]] bool warms_up() const { return steps_taken() < warmup_steps_; }
  [[nodiscard]] std::int64_t warmup_steps() const { return warmup_steps_; }
  /// `adam` on the mean gradient, which feeds m and v of every rank.
  void warm_up(const ExecutionSpace& exec, const Vector<float>& x, const Gradient& gradient,
               StepResult& result);
  /// m, v by ema of the own g, g^2; v <- mean over ranks if t mod T_v = 0;
  /// residual <- keep residual + gamma (m/c1) / (sqrt(v/c2) + eps).
  void accumulate(const ExecutionSpace& exec, const Gradient& gradient, double keep,
                  const Vector<float>& residual, StepResult& result);
  /// x <- (1 - gamma lambda) x - mean of the ranks' largest entries of the residual, which is 0 there
  /// afterwards.
  void deliver_largest(const ExecutionSpace& exec, const Vector<float>& residual, const Vector<float>& x,
                       const StepResult& result);
  [[nodiscard]] DenseMean& dense_mean() { return dense_mean_; }

 private:
  [[nodiscard]] bool synchronises_variance(std::int64_t step) const {
    return variance_sync_interval_ > 0 && step % variance_sync_interval_ == 0;
  }

  std::int64_t warmup_steps_;
  std::int64_t variance_sync_interval_;
  Moments moments_;
  DenseMean dense_mean_;
  DenseSubset kept_dense_;
  SparseMean sparse_mean_;
};

}  // namespace kadam
