// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/local_moments_adam.hpp>

namespace kadam {

/// Locally Accumulated Adam: the optimization direction is accumulated, not the gradient, and its largest
/// entries are exchanged (Chen and Deligiannis 2023).
///
///   t <= warmup: adam.  Then m, v of the own gradient; v <- dense mean if t mod T_v = 0
///   e <- beta_e e + gamma (m/c1) / (sqrt(v/c2) + eps)
///   of every select_block elements the k = max(1, floor(density len + 1/2)) largest |e| are sent: e <- 0
///     with value_bits = 2: their sign and one of two magnitudes: e <- e - what was sent
///   x <- (1 - gamma lambda) x - (1/n) sum of what was sent, in rank order
///
/// beta_e = residual_decay, T_v = variance_sync_interval. Why the direction and not the gradient: the sum of
/// j gradients, sent every j steps, would inflate v, and steps would shrink down to 1/sqrt(j), most of all on
/// coordinates whose gradients agree. Law (lambda = 0, beta_e = 1): x - mean(e) is what the same gradients
/// would give if all of e were sent at every step. With step_ahead = s each rank takes its gradient at
/// x - s e. A rank's own v is up to n times as large as that of the mean gradient: steps are up to sqrt(n)
/// times smaller; tune the learning rate in [1, sqrt(n)] times dense Adam's. Beyond about 32 ranks use
/// exchange = "owner". Learning rate 0 adds nothing to e, but what is owed is still delivered. flush()
/// delivers all of e: at a density of 1 % a coordinate waits for 100 steps on average, and the end of a run
/// would otherwise lose what still waits.
///
/// Memory: 12 d state bytes, 16 d with step_ahead. Wire: SparseMean's bytes, and a dense mean every T_v
/// steps. Worked number: d = 10^6, n = 4, density 0.01: 167 kB per step, and 6 MB every 50 steps.
class LocallyAccumulatedAdam final : public LocalMomentsAdam {
 public:
  struct Options : LocalMomentsAdam::Options {
    double residual_decay = 1.0;

    /// Whether each rank works ahead of the common parameters, at x - s e. One rank never does: it is at the
    /// common ones.
    [[nodiscard]] bool steps_ahead(const Arrangement& ranks) const {
      return step_ahead > 0.0 && ranks.ranks > 1;
    }

    void describe(OptionFields& fields);
  };

  LocallyAccumulatedAdam(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void advance(Step& step) override;
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  void deliver_all(const ExecutionSpace& exec, const Vector<float>& parameters) override;
  void consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                 const Vector<float>& out) override;

 private:
  Options options_;
  bool steps_ahead_;
  Vector<float> e_;  ///< what this rank still owes
  Vector<float> x_;  ///< the common parameters, where ranks work ahead of them; else empty
};

}  // namespace kadam
