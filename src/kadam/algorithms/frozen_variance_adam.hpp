// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/frozen_variance.hpp>
#include <kadam/algorithms/grouped_mean.hpp>
#include <kadam/algorithms/warmup_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>

#include <string_view>
#include <vector>

namespace kadam {

/// Dense Adam until the variance is stable; then the variance is frozen and only the momentum is exchanged,
/// compressed. The one algorithm behind onebit_adam and apmsqueeze, which differ in their options alone.
///
///   t <= T_w:  adam, T_w = warmup_steps; its mean gradient is a WarmupMean
///   t = T_w:   then m <- m/c1,  v <- v/c2,  v is frozen;  coordinates with v = 0 are inactive
///   t > T_w:   y = ema(m, g, beta1);  m <- C-AR(y)
///              x <- (1 - gamma lambda) x - gamma m / (sqrt(v) + eps)
///
/// Inactive coordinates get no update but their weight decay. Tensors kept dense take part with the exact
/// mean of y instead of C-AR(y). Clipping: by the norm of the mean gradient during the warm-up; afterwards,
/// and with a warmup_code, that norm is not known, and the gradient of each rank is scaled by the root mean
/// square of the ranks' norms.
///
/// 1 bit per element would throw coordinates of little variance about: `variance_floor` = f raises sqrt(v) to
/// f times its root mean square in the scale block, at the freeze, and leaves out what is noise
/// (raise_variance()); 0 is the algorithm as published. `precondition` compresses y / (sqrt(v) + eps) instead
/// of y, so that a scale block holds numbers of one size.
///
/// Memory: m, v, errors and workspace, 12 d + 4 d/n state bytes for n > 1, 10 d + 2 d/n with errors in bf16.
/// Wire: WarmupMean's bytes in the warm-up, CompressedMean's afterwards.
class FrozenVarianceAdam final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    CodecOptions codec;
    FrozenVariance::Options variance;
    bool precondition = false;

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const;
  };
  /// 1-bit Adam: communication-efficient training with Adam's convergence speed (Tang et al. 2021).
  ///
  /// A sign code, and bias correction, folded in once when the variance is frozen; correcting a frozen v any
  /// longer would make the steps grow. warmup_steps is a number, or "auto": the first step at which
  /// VarianceStability holds. Paper: up to 5 times less volume over a whole run. Worked number: d = 10^6,
  /// n = 4, block 2048: 6 MB per step in the warm-up, 190 kB after it.
  struct OnebitAdam;
  /// APMSqueeze: Adam-preconditioned momentum SGD with error-compensated compression (Tang et al. 2020).
  ///
  /// Any code, a fixed warm-up and no bias correction at all. Worked number: d = 10^6,
  /// n = 4, 4 bits, block 2048: 753 kB per step after the warm-up.
  struct Apmsqueeze;

  FrozenVarianceAdam(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  [[nodiscard]] std::int64_t inactive_elements() const override { return mean_.inactive_elements(); }

  void advance(Step& step) override;
  [[nodiscard]] DenseMean* next_gradient_mean() override {
    return variance_.is_frozen() ? nullptr : warmup_mean_.dense();
  }
  [[nodiscard]] bool writes_model() const override { return true; }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  [[nodiscard]] bool has_dense_state() const override {
    return !variance_.is_frozen() && !warmup_mean_.has_code();
  }
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                   const Restoration& restoration) override;
  void add_health(const ExecutionSpace& exec, Health& health) override;

 private:
  void warm_up(Step& step);
  void compressed_step(Step& step);
  /// y goes on from the last exchange, first_y from the momentum of the warm-up, in whose place it is
  /// written. update: of x, with the mean of y.
  template <class Rule, class FirstRule, class Update>
  void exchange(const Step& step, const Rule& y, const FirstRule& first_y, const Update& update);
  void write_momentum(const ExecutionSpace& exec) const;

  Options options_;
  Moments moments_;
  FrozenVariance variance_;
  bool momentum_is_in_message_ = false;  ///< of all but what is kept dense: m is what was decoded last
  GroupedMean mean_;
  WarmupMean warmup_mean_;
};

struct FrozenVarianceAdam::OnebitAdam : Options {
  OnebitAdam() {
    codec.codes = code_names<SignCode>();
    codec.can_shorten_errors = true;
  }
};

struct FrozenVarianceAdam::Apmsqueeze : Options {
  Apmsqueeze() {
    codec.code = "uniform4";
    common.bias_correction = false;
  }
  void validate(std::string_view owner) const;
};

}  // namespace kadam
