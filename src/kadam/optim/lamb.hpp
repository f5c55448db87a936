// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/dense_mean.hpp>
#include <kadam/optim/dense_lamb_step.hpp>
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
    DenseLambStep::Options trust;

    void describe(OptionFields& fields);
    void validate() const;
  };

  Lamb(const Options& options, TensorLayout layout, std::shared_ptr<Communicator> communicator);

  [[nodiscard]] OptionMap options() const override;
  [[nodiscard]] MemoryUse memory() const override;
  [[nodiscard]] std::vector<PlannedTraffic> traffic_plan() const override;

 protected:
  void advance(Step& step) override;
  [[nodiscard]] DenseMean* next_gradient_mean() override { return &mean_; }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  [[nodiscard]] bool has_dense_state() const override { return true; }

 private:
  Options options_;
  Moments moments_;
  DenseMean mean_;
  DenseLambStep lamb_step_;
};

}  // namespace kadam
