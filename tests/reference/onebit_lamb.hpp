// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/block_code.hpp>
#include <reference/lamb.hpp>
#include <reference/simulation.hpp>
#include <reference/warmup_mean.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kadam::reference {

/// Limits of the layer-wise ratio r of 1-bit LAMB, and of its change per step.
struct RatioLimits {
  double min = 0.5;
  double max = 4.0;
  double change = 0.1;
  double beta3 = 0.9;  ///< of the moving average of the warm-up's trust ratios
};

/// 1-bit LAMB: LAMB on the mean gradient, then a frozen variance, one compressed momentum for all tensors and
/// trust ratios that follow a fresh variance.
struct OnebitLamb {
  Lamb lamb;
  RatioLimits limits;
  CompressedMean mean;
  WarmupMean warmup_mean = {};
  std::int64_t warmup_steps;
  std::vector<bool> active;
  std::vector<float> fresh;         ///< w: variance that goes on after the freeze
  std::vector<double> trust_mean;   ///< c of each tensor: average trust ratio of the warm-up
  std::vector<double> ratio;        ///< r of each tensor
  std::vector<double> scale_match;  ///< sigma of each tensor: all momenta are sent at the same scale
  double variance_floor = 0.1;

  OnebitLamb(Lamb warmup, const RatioLimits& l, const Code& code, std::int64_t warmup_length, int ranks,
             std::int64_t elements)
      : lamb(std::move(warmup)),
        limits(l),
        mean(code, ranks, elements),
        warmup_steps(warmup_length),
        active(static_cast<std::size_t>(elements), true),
        trust_mean(lamb.hyper.tensors.size(), 1.0),
        ratio(lamb.hyper.tensors.size(), 1.0),
        scale_match(lamb.hyper.tensors.size(), 1.0) {}

  void step(std::vector<float>& x, const Ranks& gradients) {
    if (lamb.t < warmup_steps) {
      lamb.step_by(x, warmup_mean(lamb.hyper, gradients));
      for (std::size_t k = 0; k < trust_mean.size(); ++k) {
        trust_mean[k] =
            lamb.t == 1 ? lamb.trust[k] : limits.beta3 * trust_mean[k] + (1.0 - limits.beta3) * lamb.trust[k];
      }
      if (lamb.t == warmup_steps) freeze();
      return;
    }
    ++lamb.t;
    const std::vector<float> previous = lamb.m;
    exchange_momentum(gradients);
    refresh_variance(previous);
    for (std::size_t k = 0; k < lamb.hyper.tensors.size(); ++k) update(k, x);
  }

  void freeze() {
    raise_variance(mean.code, variance_floor, lamb.hyper.eps * std::sqrt(lamb.hyper.c2(lamb.t)), mean.chunks,
                   lamb.v);
    for (std::size_t i = 0; i < active.size(); ++i) {
      active[i] = lamb.v[i] > 0.0F;
      lamb.m[i] = active[i] ? lamb.m[i] * static_cast<float>(1.0 / lamb.hyper.c1(lamb.t)) : 0.0F;
      lamb.v[i] *= static_cast<float>(1.0 / lamb.hyper.c2(lamb.t));
    }
    fresh = lamb.v;
    std::vector<double> rms;
    rms.reserve(lamb.hyper.tensors.size());
    double sum = 0.0;
    int non_zero = 0;
    for (const Tensor& tensor : lamb.hyper.tensors) {
      rms.push_back(momentum_rms(tensor));
      sum += rms.back();
      if (rms.back() > 0.0) ++non_zero;
    }
    for (std::size_t k = 0; k < rms.size(); ++k)
      scale_match[k] = rms[k] > 0.0 ? sum / non_zero / rms[k] : 1.0;
  }

  /// |m| / sqrt(number of active elements) of a tensor
  [[nodiscard]] double momentum_rms(const Tensor& tensor) const {
    double squares = 0.0;
    std::int64_t count = 0;
    for (auto i = static_cast<std::size_t>(tensor.begin); i < static_cast<std::size_t>(tensor.end); ++i) {
      if (!active[i]) continue;
      squares += static_cast<double>(lamb.m[i]) * static_cast<double>(lamb.m[i]);
      ++count;
    }
    return count == 0 ? 0.0 : std::sqrt(squares) / std::sqrt(static_cast<double>(count));
  }

  void exchange_momentum(const Ranks& gradients) {
    Ranks y = own_gradients(lamb.hyper, gradients);
    for (auto& rank : y) {
      for (std::size_t i = 0; i < rank.size(); ++i) rank[i] = ema(lamb.m[i], rank[i], lamb.hyper.beta1);
      scale_tensors(rank, 1.0);
    }
    const std::vector<bool> dense = lamb.hyper.kept_dense(active.size(), y.size());
    std::vector<bool> in_code(active.size());
    for (std::size_t i = 0; i < in_code.size(); ++i) in_code[i] = active[i] && !dense[i];
    lamb.m = with_exact_mean(mean(y, in_code), y, dense);
    for (std::size_t i = 0; i < active.size(); ++i) lamb.m[i] = active[i] ? lamb.m[i] : 0.0F;
    scale_tensors(lamb.m, -1.0);
  }
  [[nodiscard]] const Undecided& undecided() const {
    return warmup_mean.undecided(lamb.t <= warmup_steps, mean);
  }

  /// values <- values * sigma^power, tensor by tensor
  void scale_tensors(std::vector<float>& values, double power) const {
    for (std::size_t k = 0; k < lamb.hyper.tensors.size(); ++k) {
      const auto factor = static_cast<float>(std::pow(scale_match[k], power));
      const Tensor& tensor = lamb.hyper.tensors[k];
      for (std::int64_t i = tensor.begin; i < tensor.end; ++i) values[static_cast<std::size_t>(i)] *= factor;
    }
  }

  /// w <- ema(w, g^2) with the mean gradient g that follows from the old and the new momentum.
  void refresh_variance(const std::vector<float>& previous) {
    const double beta1 = lamb.hyper.beta1;
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      const float g = (lamb.m[i] - static_cast<float>(beta1) * previous[i]) / static_cast<float>(1.0 - beta1);
      fresh[i] = ema(fresh[i], g * g, lamb.hyper.beta2);
    }
  }

  void update(std::size_t k, std::vector<float>& x) {
    const Tensor& tensor = lamb.hyper.tensors[k];
    const Rates rates = lamb.hyper.rates_of(tensor, lamb.t);
    const auto eps = static_cast<float>(lamb.hyper.eps);
    std::vector<float> u;
    double largest = 0.0;
    double p_squared = 0.0;
    double u_squared = 0.0;
    for (auto i = static_cast<std::size_t>(tensor.begin); i < static_cast<std::size_t>(tensor.end); ++i) {
      const float p = active[i] ? lamb.m[i] / (std::sqrt(lamb.v[i]) + eps) : 0.0F;
      u.push_back(p + static_cast<float>(rates.weight_decay) * x[i]);
      p_squared += static_cast<double>(p) * static_cast<double>(p);
      u_squared += static_cast<double>(u.back()) * static_cast<double>(u.back());
      if (!active[i]) continue;
      const float quotient = (std::sqrt(lamb.v[i]) + eps) / (std::sqrt(fresh[i]) + eps);
      largest = std::max(largest, static_cast<double>(quotient));
    }
    double wanted = largest > 0.0 ? largest : 1.0;
    if (rates.weight_decay > 0.0 && u_squared > 0.0) {
      const double q = std::min(1.0, std::sqrt(p_squared) / std::sqrt(u_squared));
      wanted = wanted * q + 1.0 - q;
    }
    wanted = std::clamp(wanted, limits.min, limits.max);
    ratio[k] = std::clamp(wanted, (1.0 - limits.change) * ratio[k], (1.0 + limits.change) * ratio[k]);
    const auto rate = static_cast<float>(rates.lr * ratio[k] * trust_mean[k]);
    for (std::size_t j = 0; j < u.size(); ++j) x[static_cast<std::size_t>(tensor.begin) + j] -= rate * u[j];
  }
};

inline constexpr Reference onebit_lamb_reference = {
    "onebit_lamb", [](OptionReader& read, const World& world) {
      const Lamb lamb = make_lamb(read, world);
      const RatioLimits limits = {.min = read.number("ratio_min", 0.5),
                                  .max = read.number("ratio_max", 4.0),
                                  .change = read.number("ratio_change", 0.1),
                                  .beta3 = read.number("beta3", 0.9)};
      OnebitLamb onebit(lamb, limits, read.code("sign"), read.count("warmup_steps", 0), world.ranks,
                        world.elements);
      onebit.warmup_mean = make_warmup_mean(read, world, onebit.mean.code);
      onebit.variance_floor = read.number("variance_floor", onebit.variance_floor);
      return simulation_of(onebit);
    }};

}  // namespace kadam::reference
