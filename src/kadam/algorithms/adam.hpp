// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/eight_bit_moments.hpp>
#include <kadam/collectives/dense_mean.hpp>

namespace kadam {

/// Dense Adam / AdamW over n ranks: the baseline of the family (Kingma and Ba 2015; Loshchilov and Hutter
/// 2019).
///
///   g = mean of the ranks' gradients;  m <- ema(m, g, beta1);  v <- ema(v, g^2, beta2)
///   x <- (1 - gamma lambda) x - gamma (m/c1) / (sqrt(v/c2) + eps),  c1 = 1 - beta1^t,  c2 = 1 - beta2^t
///
/// A tensor for which no rank has a gradient is left alone, and its t does not count that step
/// (Optimizer::leave_out()).
///
/// moments = "8bit" keeps m and v in a byte each (Dettmers et al. 2021).
///
/// Clipping: by the norm of the mean gradient. Memory: 8 d state bytes (8 bits: 2 d and d/32) and, for n > 1,
/// 8 d workspace bytes. Wire: 2 (n - 1)/n 4 d bytes per step. Gradients of 16 bits halve workspace and wire.
/// Worked number: d = 10^6, n = 4: 6 MB per step.
///
/// shard_state divides m, v and the update over k ranks: the ranks of a node in two levels, all n ranks in
/// one level (as in ZeRO-1, Rajbhandari et al. 2020). A rank gets the mean gradient of its shard alone and
/// updates its shard of x; then the k ranks gather x, where without shard_state they gather g. The update of
/// an element is the same to the last bit; the norm that clips is added up by shards, in double.
/// Memory: 8 d/k state bytes. Wire: the same, x in float32.
class Adam final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    MomentFormat moments = MomentFormat::float32;
    bool shard_state = false;

    void describe(OptionFields& fields);
    /// Errors: std::invalid_argument for shard_state together with moments in 8 bits.
    void validate(std::string_view owner) const;
    /// The part of the mean gradient that a rank gets.
    [[nodiscard]] Received received() const { return shard_state ? Received::shard : Received::all; }
  };

  Adam(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void advance(Step& step) override;
  [[nodiscard]] DenseMean* next_gradient_mean() override { return &mean_; }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                   const Restoration& restoration) override;
  [[nodiscard]] bool has_dense_state() const override { return true; }
  [[nodiscard]] bool writes_model() const override { return !mean_.layout().is_divided(); }
  [[nodiscard]] bool leaves_out_tensors() const override { return true; }

 private:
  MomentFormat format_;
  Moments moments_;  ///< empty where moments are kept in 8 bits
  EightBitMoments eight_bit_moments_;
  DenseMean mean_;
};

}  // namespace kadam
