// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/muon_direction.hpp>
#include <kadam/collectives/dense_mean.hpp>

#include <string>

namespace kadam {

/// Muon over n ranks: matrices follow their orthogonalised momentum, Adam updates all else (Jordan et al.
/// 2024; Liu et al. 2025). A dense baseline.
///
///   g = mean of the ranks' gradients;  x <- (1 - gamma lambda) x - gamma u,  u by MuonDirection
///
/// Tensors without a shape are no matrices; embeddings and output layers are best left out (Tensor::spectral,
/// or the option `matrices`). Every rank computes all products: replicas stay bitwise equal where ranks have
/// the same processor and number of threads (NewtonSchulz). Clipping: by the norm of the mean gradient.
///
/// Memory: MuonDirection's, and DenseMean's. Wire: 2 (n - 1)/n 4 d bytes per step, as adam.
class Muon final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    std::string matrices = "all";

    void describe(OptionFields& fields);
    void validate(std::string_view /*owner*/) const {}
    /// Describes the option `matrices`, for all algorithms that have it.
    static void describe_matrices(OptionFields& fields, std::string& matrices);
  };

  Muon(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void advance(Step& step) override;
  void groups_were_set() override { direction_.set_groups(groups()); }
  [[nodiscard]] DenseMean* next_gradient_mean() override { return &mean_; }
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  [[nodiscard]] bool has_dense_state() const override { return true; }

 private:
  MuonDirection direction_;
  DenseMean mean_;
};

}  // namespace kadam
