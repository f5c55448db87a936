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
/// A tensor that no rank has a gradient for is left alone, and its t counts the steps in which one had
/// (Optimizer::leave_out()).
///
/// moments = "8bit" keeps m and v in a byte each (Dettmers et al. 2021).
///
/// Clipping: by the norm of the mean gradient. Memory: 8 d state (8 bits: 2 d and d/32), 8 d workspace bytes,
/// the latter for n > 1. Wire: 2 (n - 1)/n 4 d bytes per step. Half the workspace and wire with gradients of
/// 16 bits. Worked number: d = 10^6, n = 4: 6 MB per step.
///
/// shard_state divides m, v and the update over k ranks, those of a node, with one level all n (as in ZeRO-1,
/// Rajbhandari et al. 2020): a rank gets the mean gradient of its shard alone, updates that of x, and the k
/// ranks gather x in place of g. Elements become what they become without, to the last bit; a norm that clips
/// is added up by shards, in double. Memory: 8 d/k state bytes. Wire: the same, x in float32.
class Adam final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    MomentFormat moments = MomentFormat::float32;
    bool shard_state = false;

    void describe(OptionFields& fields);
    /// Errors: std::invalid_argument for both together.
    void validate(std::string_view owner) const;
    /// What ranks get of the mean gradient.
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
  Moments moments_;  ///< in float32
  EightBitMoments eight_bit_moments_;
  DenseMean mean_;
};

}  // namespace kadam
