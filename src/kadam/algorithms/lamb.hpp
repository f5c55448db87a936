// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/dense_lamb_step.hpp>
#include <kadam/collectives/dense_mean.hpp>

namespace kadam {

/// Dense LAMB: Adam's direction with a trust ratio per tensor, for large batches (You et al. 2020).
///
///   g, m, v as in adam;  u = (m/c1) / (sqrt(v/c2) + eps) + lambda x   per tensor
///   phi = |x| / |u| (1 if either is 0), clipped to [trust_min, trust_max];  x <- x - gamma phi u
///
/// Clipping: by the norm of the mean gradient. Memory and wire as adam; 40 B moved per element and step.
class Lamb final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    DenseLambStep::Options trust;

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const { trust.validate(owner); }
  };

  Lamb(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void advance(Step& step) override;
  [[nodiscard]] DenseMean* next_gradient_mean() override { return &mean_; }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  [[nodiscard]] bool has_dense_state() const override { return true; }

 private:
  Moments moments_;
  DenseMean mean_;
  DenseLambStep lamb_step_;
};

}  // namespace kadam
