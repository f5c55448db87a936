// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <reference/local_moments.hpp>
#include <reference/sparse_mean.hpp>
#include <utility>
#include <vector>

namespace kadam::reference {

/// Locally Accumulated Adam: directions pile up on each rank until they are among the largest.
struct LocallyAccumulatedAdam {
  LocalMoments moments;
  SparseMean mean;
  double residual_decay;
  Ranks residual;

  LocallyAccumulatedAdam(LocalMoments local, const SparseMean& sparse, double decay)
      : moments(std::move(local)),
        mean(sparse),
        residual_decay(decay),
        residual(moments.m.size(), std::vector<float>(moments.m[0].size(), 0.0F)) {}

  void step(std::vector<float>& x, const Ranks& gradients) {
    if (moments.warm_up(x, gradients)) return;
    const Ranks step = moments.directions(gradients);
    for (std::size_t r = 0; r < step.size(); ++r) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        residual[r][i] = static_cast<float>(residual_decay) * residual[r][i] + step[r][i];
      }
    }
    const std::vector<float> applied = mean(residual);
    const Hyper now = moments.hyper.at(moments.t);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = decayed(now, x[i]) - applied[i];
  }
};

}  // namespace kadam::reference
