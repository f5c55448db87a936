// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

/// Ranks that live in one process: one vector per rank. Nothing of Kadam is used here.
namespace kadam::reference {

using Ranks = std::vector<std::vector<float>>;  ///< [rank][d]

inline Ranks zeros(int ranks, std::int64_t elements) {
  return {static_cast<std::size_t>(ranks), std::vector<float>(static_cast<std::size_t>(elements), 0.0F)};
}

/// The mean over ranks: the sum in rank order, times 1/n.
inline std::vector<float> dense_mean(const Ranks& values) {
  std::vector<float> mean(values[0].size());
  const auto inverse = static_cast<float>(1.0 / static_cast<double>(values.size()));
  for (std::size_t i = 0; i < mean.size(); ++i) {
    float sum = values[0][i];
    for (std::size_t r = 1; r < values.size(); ++r) sum += values[r][i];
    mean[i] = sum * inverse;
  }
  return mean;
}

/// `values`, with the exact mean of `kept` over ranks in the elements that are kept dense.
inline std::vector<float> with_exact_mean(std::vector<float> values, const Ranks& kept,
                                          const std::vector<bool>& dense) {
  const std::vector<float> mean = dense_mean(kept);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dense[i]) values[i] = mean[i];
  }
  return values;
}

/// The mean of each node, that is of ranks_per_node consecutive ranks, which nodes exchange in two levels.
inline Ranks node_means(const Ranks& values, int ranks_per_node) {
  Ranks means;
  for (auto first = values.begin(); first != values.end(); first += ranks_per_node) {
    means.push_back(dense_mean({first, first + ranks_per_node}));
  }
  return means;
}

/// An optimizer that keeps one x for all ranks, because they hold the same after every step.
template <class Optimizer>
struct Replicated {
  Optimizer optimizer;

  explicit Replicated(Optimizer o) : optimizer(std::move(o)) {}

  void step(Ranks& working, const Ranks& gradients) {
    optimizer.step(working[0], gradients);
    for (auto& x : working) x = working[0];
  }
  [[nodiscard]] auto undecided() const requires requires { optimizer.undecided(); }
  { return optimizer.undecided(); }
};

}  // namespace kadam::reference
