// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/dense_mean.hpp>
#include <kadam/kernels/lamb_update.hpp>
#include <kadam/optim/optimizer.hpp>

namespace kadam {

/// Dense LAMB: Adam's direction with a trust ratio per tensor, for large batches (You et al. 2020).
///
///   g, m, v as in adam;  u = (m/c1) / (sqrt(v/c2) + eps) + lambda x   per tensor
///   phi = |x| / |u| (1 if either is 0), clipped to [trust_min, trust_max];  x <- x - gamma phi u
///
/// Clipping: by the norm of the mean gradient. Memory and wire as adam; 40 B moved per element and step.
class Lamb final : public Optimizer {
 public:
  struct Options {
    CommonOptions common;
    double trust_min = 0.01;
    double trust_max = 10.0;

    void describe(OptionFields& fields);
    void validate() const;
  };

  struct State {
    Vector<float> m;
    Vector<float> v;
  };

  Lamb(const Options& options, TensorLayout layout, std::shared_ptr<Communicator> communicator);

  [[nodiscard]] OptionMap options() const override;
  [[nodiscard]] MemoryUse memory() const override;
  [[nodiscard]] BytesPerStep bytes_per_step() const override;
  [[nodiscard]] const State& state() const { return state_; }

 protected:
  void advance(const ExecutionSpace& exec, const Vector<float>& x, const Vector<const float>& gradient,
               StepResult& result) override;

 private:
  Options options_;
  State state_;
  DenseMean mean_;
  TensorTiles<MemorySpace> tiles_;
  LambTensors<MemorySpace> tensors_;
};

}  // namespace kadam
