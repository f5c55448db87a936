// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/adam.hpp>
#include <reference/factored_variance.hpp>
#include <reference/option_reader.hpp>
#include <reference/sparse_mean.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kadam::reference {

/// Moments that each rank keeps of its own gradients, after an optional warm-up in which they are of the mean
/// gradient.
struct LocalMoments {
  Hyper hyper;
  std::int64_t warmup_steps;
  std::int64_t variance_sync_interval;  ///< 0: never
  std::int64_t variance_delay;          ///< steps from the exchange of a mean variance to its use
  Ranks m;
  Ranks v;
  std::vector<FactoredVariance> factors = {};  ///< of each rank, from which v follows; empty: v is kept
  Ranks v_then = {};                           ///< v at the beginning of the last exchange of variances
  std::int64_t t = 0;

  LocalMoments(const Hyper& h, std::int64_t warmup, std::int64_t interval, std::int64_t delay, int ranks,
               std::int64_t elements)
      : hyper(h),
        warmup_steps(warmup),
        variance_sync_interval(interval),
        variance_delay(delay),
        m(zeros(ranks, elements)),
        v(m) {}

  /// Takes a step of dense Adam that feeds the moments of all ranks. Returns false, and does nothing, after
  /// the warm-up.
  bool warm_up(std::vector<float>& x, const Ranks& gradients) {
    if (t >= warmup_steps) return false;
    ++t;
    feed(Ranks(gradients.size(), gradient_mean(hyper, gradients)));
    const std::vector<Rates> rates = hyper.rates(t, x.size());
    const double c1 = hyper.c1(t);
    const double c2 = hyper.c2(t);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = apply(rates[i], hyper.eps, x[i], m[0][i], v[0][i], c1, c2);
    }
    return true;
  }

  /// Advances t and returns gamma (m / c1) / (sqrt(v / c2) + eps) of every rank.
  Ranks directions(const Ranks& gradients) {
    ++t;
    feed(own_gradients(hyper, gradients));
    average_variance();
    Ranks step = gradients;
    const std::vector<Rates> rates = hyper.rates(t, step[0].size());
    const double c1 = hyper.c1(t);
    const double c2 = hyper.c2(t);
    for (std::size_t r = 0; r < step.size(); ++r) {
      for (std::size_t i = 0; i < step[r].size(); ++i) {
        step[r][i] = direction(rates[i], hyper.eps, m[r][i], v[r][i], c1, c2);
      }
    }
    return step;
  }

  /// x <- (1 - gamma lambda) x - mean of the largest entries of the residuals, and of all entries of tensors
  /// kept dense. Delivered entries of residuals are 0 afterwards.
  void deliver(SparseMean& mean, Ranks& residual, std::vector<float>& x) const {
    const std::vector<bool> dense = hyper.kept_dense(x.size(), residual.size());
    const Ranks all = residual;
    for (auto& rank : residual) {
      for (std::size_t i = 0; i < x.size(); ++i) rank[i] = dense[i] ? 0.0F : rank[i];
    }
    const std::vector<float> applied = with_exact_mean(mean(residual), all, dense);
    const std::vector<Rates> rates = hyper.rates(t, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = decayed(rates[i], x[i]) - applied[i];
  }

  /// From now on v follows from factors.
  void factor(const World& world) {
    std::vector<Tensor> tensors = world.tensors;
    if (tensors.empty()) tensors.push_back({0, world.elements});
    factors.assign(m.size(), FactoredVariance(tensors));
  }

  /// v <- mean over ranks every variance_sync_interval steps. A delayed mean of the old v replaces only its
  /// part: v <- v + beta2^delay (mean - old v), which keeps the gradients since then.
  void average_variance() {
    if (variance_sync_interval == 0) return;
    if (!factors.empty()) {
      if (t % variance_sync_interval == 0) FactoredVariance::average(factors);
      for (std::size_t r = 0; r < v.size(); ++r) v[r] = factors[r].variance(v[r].size());
      return;
    }
    if (t % variance_sync_interval == 0) v_then = v;
    if (v_then.empty() || t % variance_sync_interval != variance_delay) return;
    const std::vector<float> mean = dense_mean(v_then);
    const auto kept = static_cast<float>(std::pow(hyper.beta2, static_cast<double>(variance_delay)));
    for (std::size_t r = 0; r < v.size(); ++r) {
      for (std::size_t i = 0; i < mean.size(); ++i) {
        v[r][i] = variance_delay == 0 ? mean[i] : std::max(0.0F, v[r][i] + kept * (mean[i] - v_then[r][i]));
      }
    }
  }

  /// Updates m and v of each rank with its gradient.
  void feed(const Ranks& gradients) {
    for (std::size_t r = 0; r < m.size(); ++r) {
      for (std::size_t i = 0; i < m[r].size(); ++i) {
        const float g = gradients[r][i];
        m[r][i] = ema(m[r][i], g, hyper.beta1);
        if (factors.empty()) v[r][i] = ema(v[r][i], g * g, hyper.beta2);
      }
      if (factors.empty()) continue;
      factors[r].update(gradients[r], hyper.beta2);
      v[r] = factors[r].variance(v[r].size());
    }
  }
};

inline LocalMoments make_local_moments(OptionReader& read, const World& world) {
  (void)read.word("progress", "none");  // changes no result
  const bool is_factored = read.is("variance", "factored");
  LocalMoments moments(read.hyper(), read.count("warmup_steps", 0),
                       read.count("variance_sync_interval", is_factored ? 10 : 50),
                       read.count("variance_delay", 0), world.ranks, world.elements);
  if (is_factored) moments.factor(world);
  return moments;
}

}  // namespace kadam::reference
