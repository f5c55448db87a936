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
/// Inactive coordinates get no update but their weight decay. Tensors kept dense exchange the exact mean of y
/// instead of C-AR(y). Clipping: by the norm of the mean gradient during the warm-up. Afterwards, and with a
/// warmup_code, that norm is not known: each rank clips its gradient by the root mean square of the ranks'
/// norms.
///
/// 1 bit per element would move coordinates with a small variance much too far. `variance_floor` = f raises
/// sqrt(v), at the freeze, to f times its root mean square in the scale block, and leaves out coordinates
/// that are noise (raise_variance()); f = 0 is the algorithm as published. `precondition` compresses
/// y / (sqrt(v) + eps) instead of y, so that all numbers of a scale block have about the same size.
///
/// Memory: 12 d + 4 d/n state bytes for n > 1 (m, v and errors), 10 d + 2 d/n with errors in bf16; and
/// workspace. Wire: WarmupMean's bytes in the warm-up, CompressedMean's afterwards.
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
  /// Exchanges y and updates x with its mean, as `update` says. The first exchange (also the first after a
  /// state was read without its message) computes y by `first_y`, from moments_.m, and writes it in place of
  /// that momentum. Later ones compute it by `y`, from the momentum in the last message. Collective.
  template <class Rule, class FirstRule, class Update>
  void exchange(const Step& step, const Rule& y, const FirstRule& first_y, const Update& update);
  /// Decodes the momentum in the last message into moments_.m, which holds the input of the first exchange
  /// until then.
  void write_momentum(const ExecutionSpace& exec) const;

  Options options_;
  Moments moments_;
  FrozenVariance variance_;
  /// Whether the momentum lies in the last message, not in moments_.m. That of tensors kept dense always lies
  /// in moments_.m.
  bool momentum_is_in_message_ = false;
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
