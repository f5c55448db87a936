// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <reference/adam.hpp>
#include <vector>

namespace kadam::reference {

/// Moments that every rank keeps of its own gradients, after an optional warm-up in which all see the mean.
struct LocalMoments {
  Hyper hyper;
  std::int64_t warmup_steps;
  std::int64_t variance_sync_interval;  ///< 0: never
  Ranks m;
  Ranks v;
  std::int64_t t = 0;

  LocalMoments(const Hyper& h, std::int64_t warmup, std::int64_t interval, int ranks, std::int64_t elements)
      : hyper(h), warmup_steps(warmup), variance_sync_interval(interval), m(zeros(ranks, elements)), v(m) {}

  /// A step of dense Adam that feeds the moments of every rank, if the warm-up is not over.
  bool warm_up(std::vector<float>& x, const Ranks& gradients) {
    if (t >= warmup_steps) return false;
    ++t;
    feed(Ranks(gradients.size(), gradient_mean(hyper, gradients)));
    const Hyper now = hyper.at(t);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = apply(now, x[i], m[0][i], v[0][i], hyper.c1(t), hyper.c2(t));
    }
    return true;
  }

  /// The next step's gamma (m / c1) / (sqrt(v / c2) + eps) of every rank.
  Ranks directions(const Ranks& gradients) {
    ++t;
    feed(gradients);
    if (variance_sync_interval > 0 && t % variance_sync_interval == 0) v.assign(v.size(), dense_mean(v));
    const Hyper now = hyper.at(t);
    Ranks step = gradients;
    for (std::size_t r = 0; r < step.size(); ++r) {
      for (std::size_t i = 0; i < step[r].size(); ++i) {
        step[r][i] = direction(now, m[r][i], v[r][i], hyper.c1(t), hyper.c2(t));
      }
    }
    return step;
  }

  void feed(const Ranks& gradients) {
    for (std::size_t r = 0; r < m.size(); ++r) {
      for (std::size_t i = 0; i < m[r].size(); ++i) {
        const float g = gradients[r][i];
        m[r][i] = ema(m[r][i], g, hyper.beta1);
        v[r][i] = ema(v[r][i], g * g, hyper.beta2);
      }
    }
  }
};

}  // namespace kadam::reference
