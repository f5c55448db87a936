// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/adam.hpp>
#include <reference/block_code.hpp>
#include <reference/simulation.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kadam::reference {

/// Schedule of 0/1 Adam: the steps that refresh the variance, and those that synchronise.
struct ZeroOnePolicy {
  std::int64_t variance_freeze_step = 0;
  std::int64_t variance_kappa = 16;
  std::int64_t sync_doubling_steps = 32678;
  std::int64_t sync_interval_max = 16;

  [[nodiscard]] bool is_variance_step(std::int64_t t) const {
    std::int64_t next = 1;
    for (std::int64_t j = 0; next < t; ++j) next += std::int64_t{1} << (j / variance_kappa);
    return next == t && t <= variance_freeze_step;
  }
  [[nodiscard]] bool is_sync_step(std::int64_t t, std::int64_t last_sync) const {
    if (t <= variance_freeze_step) return true;
    const std::int64_t doublings = (t - variance_freeze_step - 1) / sync_doubling_steps;
    const std::int64_t gap =
        std::min(sync_interval_max, std::int64_t{1} << std::min<std::int64_t>(doublings, 30));
    return t - last_sync >= gap;
  }
};

/// 0/1 Adam.
struct ZeroOneAdam {
  Hyper hyper;
  ZeroOnePolicy policy;
  CompressedMean mean;
  Ranks x = {};  ///< at the last synchronisation
  Ranks m;
  Ranks u;                 ///< sum of gamma m since then
  double gamma_sum = 0.0;  ///< sum of gamma since then
  std::vector<float> v;
  std::int64_t variance_steps = 0;
  float inverse_c2 = 1.0F;  ///< with c2 of these steps
  std::int64_t last_sync = 0;
  std::int64_t t = 0;
  bool momentum_differs = false;  ///< between ranks: after a sync step with learning rates of 0
  double variance_floor = 0.1;

  ZeroOneAdam(const Hyper& h, const Code& code, const ZeroOnePolicy& p, int ranks, std::int64_t elements)
      : hyper(h),
        policy(p),
        mean(code, ranks, elements),
        m(zeros(ranks, elements)),
        u(m),
        v(static_cast<std::size_t>(elements), 0.0F) {}

  void step(Ranks& working, const Ranks& gradients) {
    if (++t == 1) x = working;
    if (policy.is_variance_step(t)) {
      refresh_variance(gradients);
      working = x;
      last_sync = t;
      return;
    }
    accumulate(gradients);
    for (std::size_t r = 0; r < x.size(); ++r) working[r] = moved(x[r], u[r]);
    if (policy.is_sync_step(t, last_sync)) synchronise(working);
  }

  [[nodiscard]] float denominator(std::size_t i) const {
    return std::sqrt(v[i] * inverse_c2) + static_cast<float>(hyper.eps);
  }

  void refresh_variance(const Ranks& gradients) {
    const std::vector<Rates> rates = hyper.rates(t, v.size());
    const std::vector<float> g = gradient_mean(hyper, gradients);
    ++variance_steps;
    inverse_c2 = static_cast<float>(1.0 / hyper.c2(variance_steps));
    if (momentum_differs) m = zeros(static_cast<int>(x.size()), static_cast<std::int64_t>(v.size()));
    momentum_differs = false;
    for (std::size_t i = 0; i < v.size(); ++i) {
      v[i] = ema(v[i], g[i] * g[i], hyper.beta2);
      for (std::size_t r = 0; r < x.size(); ++r) {
        m[r][i] = ema(m[r][i], g[i], hyper.beta1);
        x[r][i] = decayed(rates[i], x[r][i]);
        if (v[i] > 0.0F) x[r][i] -= static_cast<float>(rates[i].lr) * m[r][i] / denominator(i);
      }
    }
    raise_variance(mean.code, variance_floor, hyper.eps * std::sqrt(hyper.c2(variance_steps)), mean.chunks,
                   v);
    for (auto& rank : m) {
      for (std::size_t i = 0; i < v.size(); ++i) rank[i] = v[i] > 0.0F ? rank[i] : 0.0F;
    }
  }

  void accumulate(const Ranks& gradients) {
    const std::vector<Rates> rates = hyper.rates(t, v.size());
    const Ranks own = own_gradients(hyper, gradients);
    gamma_sum += hyper.learning_rate(t);
    for (std::size_t r = 0; r < m.size(); ++r) {
      for (std::size_t i = 0; i < v.size(); ++i) {
        m[r][i] = ema(m[r][i], own[r][i], hyper.beta1);
        u[r][i] += static_cast<float>(rates[i].lr) * m[r][i];
      }
    }
  }

  /// (1 - lambda Gamma) start - step / D with D of denominator(); no step where v = 0 or lr_scale = 0.
  [[nodiscard]] std::vector<float> moved(const std::vector<float>& start,
                                         const std::vector<float>& step) const {
    std::vector<float> end(start.size());
    const std::vector<Rates> rates = hyper.rates(t, v.size());
    for (std::size_t i = 0; i < end.size(); ++i) {
      const bool steps = v[i] > 0.0F && rates[i].lr_scale > 0.0;
      end[i] = static_cast<float>(1.0 - rates[i].weight_decay * gamma_sum * rates[i].lr_scale) * start[i] -
               (steps ? step[i] / denominator(i) : 0.0F);
    }
    return end;
  }

  void synchronise(Ranks& working) {
    last_sync = t;
    momentum_differs = gamma_sum == 0.0;
    if (gamma_sum > 0.0) {
      const std::vector<bool> dense = hyper.kept_dense(v.size(), u.size());
      std::vector<bool> active(v.size());
      for (std::size_t i = 0; i < v.size(); ++i) active[i] = v[i] > 0.0F && !dense[i];
      take(with_exact_mean(mean(u, active), u, dense));
      working = x;
    }
    forget();
  }
  [[nodiscard]] const Undecided& undecided() const { return mean.undecided; }

  /// Moves x by `sum`, the mean of u over ranks, and sets m <- sum / Gamma; where v = 0: m <- 0. Where
  /// lr_scale = 0 each rank keeps its m.
  void take(const std::vector<float>& sum) {
    const std::vector<Rates> rates = hyper.rates(t, v.size());
    for (std::size_t r = 0; r < x.size(); ++r) {
      x[r] = moved(x[r], sum);
      for (std::size_t i = 0; i < sum.size(); ++i) {
        if (!(v[i] > 0.0F)) {
          m[r][i] = 0.0F;
        } else if (rates[i].lr_scale > 0.0) {
          m[r][i] = sum[i] / static_cast<float>(gamma_sum * rates[i].lr_scale);
        }
      }
    }
  }

  void forget() {
    for (auto& rank : u) rank.assign(rank.size(), 0.0F);
    gamma_sum = 0.0;
  }

  /// An exact synchronisation, if there are steps to deliver.
  void flush(Ranks& working) {
    if (gamma_sum == 0.0) return;
    take(dense_mean(u));
    working = x;
    forget();
    last_sync = t;
    momentum_differs = false;
  }
};

inline constexpr Reference zero_one_adam_reference = {
    "zero_one_adam", [](OptionReader& read, const World& world) {
      ZeroOnePolicy policy;
      policy.variance_freeze_step = read.count("variance_freeze_step", policy.variance_freeze_step);
      policy.variance_kappa = read.count("variance_kappa", policy.variance_kappa);
      policy.sync_doubling_steps = read.count("sync_doubling_steps", policy.sync_doubling_steps);
      policy.sync_interval_max = read.count("sync_interval_max", policy.sync_interval_max);
      ZeroOneAdam zero_one(read.hyper(), read.code("sign"), policy, world.ranks, world.elements);
      zero_one.variance_floor = read.number("variance_floor", zero_one.variance_floor);
      return simulation_of(zero_one);
    }};

}  // namespace kadam::reference
