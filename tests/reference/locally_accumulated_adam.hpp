// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/local_moments.hpp>
#include <reference/simulation.hpp>
#include <reference/sparse_mean.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace kadam::reference {

/// Locally Accumulated Adam: each rank adds up directions, and sends an entry when it is among the largest.
struct LocallyAccumulatedAdam {
  LocalMoments moments;
  SparseMean mean;
  double residual_decay;
  double step_ahead;
  std::vector<float> x = {};  ///< parameters that all ranks have in common
  Ranks residual;

  LocallyAccumulatedAdam(LocalMoments local, const SparseMean& sparse, double decay, double ahead)
      : moments(std::move(local)),
        mean(sparse),
        residual_decay(decay),
        step_ahead(ahead),
        residual(moments.m.size(), std::vector<float>(moments.m[0].size(), 0.0F)) {}

  void step(Ranks& working, const Ranks& gradients) {
    if (moments.t == 0) x = working[0];
    if (!moments.warm_up(x, gradients)) {
      const Ranks step = moments.directions(gradients);
      for (std::size_t r = 0; r < step.size(); ++r) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          residual[r][i] = static_cast<float>(residual_decay) * residual[r][i] + step[r][i];
        }
      }
      moments.deliver(mean, residual, x);
    }
    look_ahead(working);
  }

  [[nodiscard]] const Undecided& undecided() const { return mean.undecided; }

  /// working <- the points at which ranks take their next gradients: x - step_ahead residual.
  void look_ahead(Ranks& working) const {
    for (std::size_t r = 0; r < working.size(); ++r) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        working[r][i] = x[i] - static_cast<float>(step_ahead) * residual[r][i];
      }
    }
  }

  /// x <- x - mean of the residuals; residuals <- 0.
  void flush(Ranks& working) {
    const std::vector<float> owed = dense_mean(residual);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= owed[i];
    residual.assign(residual.size(), std::vector<float>(x.size(), 0.0F));
    look_ahead(working);
  }
};

inline constexpr Reference locally_accumulated_adam_reference = {
    "locally_accumulated_adam", [](OptionReader& read, const World& world) {
      return simulation_of(
          LocallyAccumulatedAdam(make_local_moments(read, world), make_sparse_mean(read, 0.01),
                                 read.number("residual_decay", 1.0), read.number("step_ahead", 0.0)));
    }};

}  // namespace kadam::reference
