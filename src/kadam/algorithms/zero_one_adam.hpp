// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/frozen_variance.hpp>
#include <kadam/algorithms/grouped_mean.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/local_step.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstdint>

namespace kadam {

/// When 0/1 Adam updates the variance and when it synchronises (Lu et al. 2023).
///
/// Variance steps: t_0 = 1, t_(j+1) = t_j + 2^floor(j / kappa) while <= freeze. Synchronisation: when
/// t - (last one) >= gap(t), gap = 1 up to `freeze`, then min(interval_max, 2^floor((t - freeze - 1) /
/// doubling)). Worked number: kappa = 2, freeze = 10: variance steps 1, 2, 3, 5, 7.
class ZeroOnePolicy {
 public:
  struct Options {
    std::int64_t freeze = 1;
    std::int64_t kappa = 16;
    std::int64_t doubling = 32678;  ///< the paper's number, not 2^15
    std::int64_t interval_max = 16;
  };

  ZeroOnePolicy() = default;
  explicit ZeroOnePolicy(const Options& options) : options_(options) {}

  /// Whether `step`, the next one to be taken, is a variance step.
  [[nodiscard]] bool is_variance_step(std::int64_t step) const {
    return step == next_variance_step_ && step <= options_.freeze;
  }
  /// Goes on to the next variance step. To be called at every variance step, in order.
  void take_variance_step();
  [[nodiscard]] bool is_sync_step(std::int64_t step) const { return step - last_sync_ >= gap(step); }
  /// Notes a synchronisation at `step`. To be called at variance steps, too, since each of them synchronises.
  void synchronised_at(std::int64_t step) { last_sync_ = step; }
  /// Smallest distance, in steps, from the last synchronisation to one at `step`.
  [[nodiscard]] std::int64_t gap(std::int64_t step) const;

  /// Goes on as if all steps up to `step` had followed this policy, and `step` had synchronised.
  void start_after(std::int64_t step);
  void describe_state(StateFields& fields) {
    fields.number("next_variance_step", next_variance_step_);
    fields.number("variance_index", variance_index_);
    fields.number("last_sync", last_sync_);
  }

 private:
  Options options_;
  std::int64_t next_variance_step_ = 1;
  std::int64_t variance_index_ = 0;  ///< j of next_variance_step_
  std::int64_t last_sync_ = 0;
};

/// Updates a coordinate at a synchronisation:
///
///   x <- (1 - lambda Gamma) x - mean / D;  parameters <- x;  m <- mean / Gamma;  u <- 0
///
/// Without variance m <- 0 and x only decays; where Gamma = 0, x and m stay. D, Gamma: see ZeroOneAdam.
struct ZeroOneSynchronise {
  Vector<float> x;
  Vector<float> m;
  Vector<float> v;
  Vector<float> u;
  Vector<float> parameters;

  /// The factors of a segment.
  struct Rule {
    LocalStep local;
    float inverse_gamma_sum;  ///< 0 where Gamma = 0
  };
  struct RuleOf {
    LocalStepOf local;
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Rule operator()(std::int64_t segment,
                                                              const SegmentFactors& factors) const {
      const double gamma_sum = local.gamma_sum * factors.lr_scale;
      return {local(segment, factors), static_cast<float>(gamma_sum > 0.0 ? 1.0 / gamma_sum : 0.0)};
    }
  };

  /// Reads everything and selects results, without a branch, so that the loop is vectorised.
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean,
                                              const Rule& rule) const {
    const float x_i = x(i);
    const float m_i = m(i);
    const float v_i = v(i);
    const bool has_variance = v_i > 0.0F;
    const bool has_steps = rule.inverse_gamma_sum > 0.0F;
    const float quotient = mean / rule.local.denominator(v_i);
    const float momentum = has_steps ? mean * rule.inverse_gamma_sum : m_i;
    const float next = rule.local.decay * x_i - (has_variance && has_steps ? quotient : 0.0F);
    m(i) = has_variance ? momentum : 0.0F;
    u(i) = 0.0F;
    x(i) = next;
    parameters(i) = next;
  }
  KOKKOS_FORCEINLINE_FUNCTION void inactive(const std::int64_t i, const Rule& rule) const {
    if (v(i) > 0.0F) return;  // kept dense: its exact mean does it
    const float next = rule.local.decay * x(i);
    m(i) = 0.0F;
    u(i) = 0.0F;
    x(i) = next;
    parameters(i) = next;
  }
};

/// The same for tensors kept dense. Their elements without variance are left out: inactive() has updated
/// them, with the code.
struct ZeroOneSynchroniseKeptDense {
  ZeroOneSynchronise update;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean,
                                              const ZeroOneSynchronise::Rule& rule) const {
    if (update.v(i) > 0.0F) update(i, mean, rule);
  }
};

/// 0/1 Adam: variance at ever rarer steps, and local steps between 1-bit synchronisations (Lu et al. 2023).
///
///   variance step: g = dense mean;  m = ema(m, g, beta1);  v = ema(v, g^2, beta2);  k += 1
///                  x <- (1 - gamma lambda) x - gamma m / D,  D = sqrt(v / (1 - beta2^k)) + eps
///   other steps:   m = ema(m, own g, beta1);  u += gamma m;  Gamma += gamma
///                  this rank works at (1 - lambda Gamma) x - u / D
///     sync step:   u' = C-AR(u);  x <- (1 - lambda Gamma) x - u'/D;  m <- u'/Gamma;  u, Gamma <- 0
///
/// ZeroOnePolicy says which step is which. x is kept as it was at the last synchronisation, so replicas
/// cannot drift. Coordinates with v = 0 take no part in C-AR and are not updated but for weight decay; a
/// later variance step wakes them. If Gamma = 0 nothing is exchanged; m then differs between ranks, and a
/// variance step that follows starts it again from 0. `variance_floor` = f raises sqrt(v) to f times its root
/// mean square in the scale block after every variance step, and sets v = 0 where it is noise
/// (raise_variance()). Clipping: variance steps by the norm of the mean gradient, others by the root mean
/// square of the ranks' norms. Tensors kept dense exchange the exact mean of their u.
///
/// Memory: 20 d + 4 d/n state bytes for n > 1. Wire: a dense mean in a variance step, CompressedMean's bytes
/// in a sync step, nothing in others. Worked number: d = 10^6, n = 4, block 2048: 6 MB, 190 kB, 0.
class ZeroOneAdam final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    CodecOptions codec{.codes = code_names<SignCode>()};
    std::int64_t variance_freeze_step = 0;  ///< 0: the end of the learning rate's warm-up
    std::int64_t variance_kappa = 16;
    std::int64_t sync_doubling_steps = 32678;
    std::int64_t sync_interval_max = 16;
    double variance_floor = default_variance_floor;

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const;
    [[nodiscard]] ZeroOnePolicy::Options policy() const;
  };

  ZeroOneAdam(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  [[nodiscard]] std::int64_t inactive_elements() const override { return mean_.inactive_elements(); }

  void advance(Step& step) override;
  [[nodiscard]] bool may_set_groups() const override { return gamma_sum_ == 0.0; }
  [[nodiscard]] DenseMean* next_gradient_mean() override {
    return policy_.is_variance_step(steps_taken() + 1) ? &dense_mean_ : nullptr;
  }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                   const Restoration& restoration) override;
  void deliver_all(const ExecutionSpace& exec, const Vector<float>& parameters) override;
  void consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                 const Vector<float>& out) override;
  void add_health(const ExecutionSpace& exec, Health& health) override;

 private:
  void variance_step(Step& step);
  void local_step(Step& step);
  void synchronise(const Step& step);
  /// `update` with the Rule of each segment at a synchronisation now.
  template <class Update>
  [[nodiscard]] UpdateBySegment<MemorySpace, ZeroOneSynchronise::RuleOf, Update> at_synchronisation(
      const Update& update) const;
  /// The update of a synchronisation, which also writes x to `parameters`.
  [[nodiscard]] ZeroOneSynchronise synchronise_into(const Vector<float>& parameters) const;
  /// Gamma <- 0, after a synchronisation.
  void forget_local_steps();
  /// out <- (1 - lambda Gamma) x - u / D
  void write_working(const ExecutionSpace& exec, const Vector<const float>& u,
                     const Vector<float>& out) const;
  /// The rule of the local steps since the last synchronisation.
  [[nodiscard]] LocalStepOf local_rule() const;

  Options options_;
  ZeroOnePolicy policy_;
  Vector<float> x_;  ///< parameters at the last synchronisation
  Moments moments_;  ///< m of this rank, v the same on all
  Vector<float> u_;  ///< sum of gamma m of this rank since then
  double gamma_sum_ = 0.0;
  std::int64_t variance_steps_ = 0;  ///< k
  bool momentum_differs_ = false;    ///< between ranks, after a sync step with Gamma = 0
  double gamma_ = 0.0;               ///< of the last step
  /// Learning rate of the last step up to variance_freeze_step + 1. If that step lies before a state that was
  /// read and does not hold it: that of the first step after reading.
  double gamma_at_freeze_ = 0.0;
  DenseMean dense_mean_;
  GroupedMean mean_;
};

}  // namespace kadam
