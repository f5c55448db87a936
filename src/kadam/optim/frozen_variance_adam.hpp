// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/compressed_mean.hpp>
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/collectives/dense_subset.hpp>
#include <kadam/optim/optimizer.hpp>
#include <kadam/optim/variance_stability.hpp>

#include <string_view>
#include <vector>

namespace kadam {

/// Dense Adam until the variance is stable; then the variance is frozen and only the momentum is exchanged,
/// compressed. The one algorithm behind onebit_adam and apmsqueeze, which differ in code and corrections.
///
///   t <= T_w: adam.   At the end of T_w: m <- m/c1, v <- v/c2, v is frozen; coordinates with v = 0 are
///   inactive. t >  T_w: y = ema(m, g, beta1);  m <- C-AR(y);  x <- (1 - gamma lambda) x - gamma m / (sqrt(v)
///   + eps)
///
/// Inactive coordinates get no update but their weight decay. Tensors kept dense take part with the exact
/// mean of y instead of C-AR(y). Clipping: by the norm of the mean gradient during the warm-up; afterwards
/// that norm is not known, and the gradient of each rank is scaled by the root mean square of the ranks'
/// norms.
///
/// Memory: m, v, errors and workspace, 12 d + 4 d/n state bytes for n > 1. Wire: DenseMean's bytes in the
/// warm-up, CompressedMean's afterwards.
class FrozenVarianceAdam : public Optimizer {
 public:
  struct Options {
    CommonOptions common;
    CodecOptions codec;
    StepsOrAuto warmup_steps;

    void describe(OptionFields& fields);
  };

  struct State {
    Vector<float> m;
    Vector<float> v;
    bool frozen = false;
  };

  FrozenVarianceAdam(std::string_view name, const Options& options, TensorLayout layout,
                     std::shared_ptr<Communicator> communicator);

  [[nodiscard]] OptionMap options() const override;
  [[nodiscard]] MemoryUse memory() const override;
  [[nodiscard]] BytesPerStep bytes_per_step() const override;
  [[nodiscard]] std::int64_t inactive_elements() const override { return inactive_; }
  [[nodiscard]] const State& state() const { return state_; }

 protected:
  void advance(const ExecutionSpace& exec, const Vector<float>& x, const Vector<const float>& gradient,
               StepResult& result) override;

 private:
  void warm_up(const ExecutionSpace& exec, const Vector<float>& x, const Vector<const float>& gradient,
               StepResult& result);
  void compressed_step(const ExecutionSpace& exec, const Vector<float>& x,
                       const Vector<const float>& gradient, StepResult& result);
  [[nodiscard]] bool warm_up_ends(const ExecutionSpace& exec, std::int64_t step);
  void freeze(const ExecutionSpace& exec, std::int64_t step);
  void mark_inactive(const ExecutionSpace& exec);

  Options options_;
  State state_;
  VarianceStability stability_;
  DenseMean dense_mean_;
  CompressedMean compressed_mean_;
  DenseSubset kept_dense_;
  Vector<ElementRange> dense_ranges_;
  Vector<std::uint32_t> mask_;
  ActiveMask<MemorySpace> active_;  ///< mask_, or empty when all coordinates are active
  std::int64_t inactive_ = 0;
};

}  // namespace kadam
