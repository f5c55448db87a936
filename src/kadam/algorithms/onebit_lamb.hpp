// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/frozen_variance.hpp>
#include <kadam/algorithms/grouped_mean.hpp>
#include <kadam/algorithms/lamb.hpp>
#include <kadam/algorithms/warmup_mean.hpp>
#include <kadam/kernels/onebit_lamb_update.hpp>

#include <vector>

namespace kadam {

/// 1-bit LAMB: LAMB whose trust ratios survive compression (Li et al. 2022).
///
///   t <= T_w:  lamb on a WarmupMean;  per tensor c <- phi the first time, then
///              c <- beta3 c + (1 - beta3) phi
///   t = T_w:   then corrections are folded into m and v, v is frozen, w <- v;  per tensor r <- 1 and
///              sigma = (mean of all tensors' rho) / own rho, rho = root mean square of m where v > 0
///              (a tensor with m = 0 is left out of the mean, its sigma is 1)
///   t > T_w:   y = sigma ema(m, g, beta1);  m' = C-AR(y) / sigma;  g' = (m' - beta1 m) / (1 - beta1)
///              w <- ema(w, g'^2, beta2);  m <- m';  u = m / (sqrt(v) + eps) + lambda x
///              r, the ratio of the frozen to the fresh variance in a tensor: see onebit_lamb_ratios
///              x <- x - gamma r c u
///
/// One C-AR exchanges the whole model; sigma brings all tensors to one size, so that a scale block may hold
/// parts of several tensors. Clipping, inactive coordinates, tensors kept dense: as FrozenVarianceAdam.
///
/// Coordinates of very little variance, such as those of nearly dead units, would make a run diverge at once:
/// variance_floor bounds their steps, as in FrozenVarianceAdam. After the first exchange m stays in its
/// message, as there; one more message is kept, for g'.
///
/// Memory: 16 d + 4 d/n state bytes for n > 1. Wire: as onebit_adam: d = 10^6, n = 4, block 2048: 6 MB per
/// step in the warm-up, 190 kB after it.
class OnebitLamb final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    DenseLambStep::Options trust;
    CodecOptions codec{.codes = code_names<SignCode>()};
    FrozenVariance::Options variance;
    double ratio_min = 0.5;
    double ratio_max = 4.0;
    double ratio_change = 0.1;
    double beta3 = 0.9;

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const;
  };

  OnebitLamb(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  [[nodiscard]] std::int64_t inactive_elements() const override { return mean_.inactive_elements(); }

  void advance(Step& step) override;
  void groups_were_set() override;
  [[nodiscard]] DenseMean* next_gradient_mean() override {
    return variance_.is_frozen() ? nullptr : warmup_mean_.dense();
  }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  [[nodiscard]] bool has_dense_state() const override {
    return !variance_.is_frozen() && !warmup_mean_.has_code();
  }
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                   const Restoration& restoration) override;
  void add_health(const ExecutionSpace& exec, Health& health) override;

 private:
  void warm_up(Step& step);
  void take_lamb_step(Step& step);
  void freeze(const Step& step);
  void set_momentum_scales(const ExecutionSpace& exec);
  void compressed_step(Step& step);
  void exchange(const Step& step, const ScaledMomentum& y);
  void write_momentum(const ExecutionSpace& exec) const;
  /// An update, or a load, with the scale of each tensor.
  template <class Update>
  [[nodiscard]] UpdateBySegment<MemorySpace, MomentumScaleOf<MemorySpace>, Update> by_tensor(
      const Update& update) const {
    return {{tensor_table_, {tensors_.momentum_scale}}, update};
  }

  Options options_;
  Moments moments_;
  Vector<float> fresh_;  ///< w; in a warm-up with a code the mean gradient
  FrozenVariance variance_;
  DenseLambStep lamb_step_;
  OnebitLambTensors<MemorySpace> tensors_;
  SegmentTable<MemorySpace> tensor_table_;  ///< each tensor a segment
  bool has_trust_ratio_ = false;            ///< c has been averaged over a step at least
  bool momentum_is_in_message_ = false;     ///< of all tensors but those kept dense
  Words<MemorySpace> previous_;             ///< message of the last exchange but one
  GroupedMean mean_;
  WarmupMean warmup_mean_;
};

}  // namespace kadam
