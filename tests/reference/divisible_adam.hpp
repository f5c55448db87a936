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

/// Divisible Adam: the largest directions go at once, the others as a dense mean in the background.
struct DivisibleAdam {
  LocalMoments moments;
  SparseMean foreground;
  std::int64_t background_steps;
  double step_ahead;
  std::vector<float> x = {};  ///< parameters that all ranks have in common
  Ranks fresh;                ///< r: residuals since the last background exchange began
  Ranks in_flight;            ///< b: residuals that travel in the background

  DivisibleAdam(LocalMoments local, const SparseMean& sparse, std::int64_t background, double ahead)
      : moments(std::move(local)),
        foreground(sparse),
        background_steps(background),
        step_ahead(ahead),
        fresh(moments.m.size(), std::vector<float>(moments.m[0].size(), 0.0F)),
        in_flight(fresh) {}

  void step(Ranks& working, const Ranks& gradients) {
    if (moments.t == 0) x = working[0];
    if (!moments.warm_up(x, gradients)) {
      const Ranks step = moments.directions(gradients);
      for (std::size_t r = 0; r < step.size(); ++r) {
        for (std::size_t i = 0; i < x.size(); ++i) fresh[r][i] += step[r][i];
      }
      moments.deliver(foreground, fresh, x);
      if ((moments.t - moments.warmup_steps) % background_steps == 0) {
        deliver(in_flight);
        in_flight.swap(fresh);
      }
    }
    look_ahead(working);
  }

  [[nodiscard]] const Undecided& undecided() const { return foreground.undecided; }

  /// x <- x - mean of the residuals; residuals <- 0.
  void deliver(Ranks& residual) {
    const std::vector<float> mean = dense_mean(residual);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= mean[i];
    residual.assign(residual.size(), std::vector<float>(x.size(), 0.0F));
  }

  /// working <- the points at which ranks take their next gradients: x - rho (r + b).
  void look_ahead(Ranks& working) const {
    for (std::size_t r = 0; r < working.size(); ++r) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        working[r][i] = x[i] - static_cast<float>(step_ahead) * (fresh[r][i] + in_flight[r][i]);
      }
    }
  }

  void flush(Ranks& working) {
    deliver(in_flight);
    deliver(fresh);
    look_ahead(working);
  }
};

inline constexpr Reference divisible_adam_reference = {
    "divisible_adam", [](OptionReader& read, const World& world) {
      return simulation_of(DivisibleAdam(make_local_moments(read, world),
                                         make_sparse_mean(read, 1.0 / 1024.0),
                                         read.count("background_steps", 4), read.number("step_ahead", 1.0)));
    }};

}  // namespace kadam::reference
