// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/block_code.hpp>
#include <reference/formulas.hpp>
#include <reference/simulation.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace kadam::reference {

/// The clipped mean gradient of a warm-up's steps: exact, or a compressed mean of the ranks' clipped
/// gradients.
struct WarmupMean {
  std::optional<CompressedMean> coded = std::nullopt;  ///< none: the mean is exact

  std::vector<float> operator()(const Hyper& hyper, const Ranks& gradients) {
    if (!coded) return gradient_mean(hyper, gradients);
    const Ranks g = own_gradients(hyper, gradients);
    const std::vector<bool> dense = hyper.kept_dense(g[0].size(), g.size());
    std::vector<bool> in_code = dense;
    in_code.flip();
    return with_exact_mean((*coded)(g, in_code), g, dense);
  }
  /// Undecided elements of the last step: a step of the warm-up, or a later one with `momentum`, the mean of
  /// the momentum.
  [[nodiscard]] const Undecided& undecided(bool warms_up, const CompressedMean& momentum) const {
    return warms_up && coded ? coded->undecided : momentum.undecided;
  }
};

/// Reads the option warmup_code. momentum: the code of the momentum, whose blocks the warm-up's code shares.
inline WarmupMean make_warmup_mean(OptionReader& read, const World& world, Code momentum) {
  momentum.name = read.word("warmup_code", "none");
  if (momentum.name == "none") return {};
  return {CompressedMean(momentum, world.ranks, world.elements)};
}

}  // namespace kadam::reference
