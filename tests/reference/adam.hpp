// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>
#include <reference/number_format.hpp>
#include <reference/simulated_ranks.hpp>
#include <vector>

/// The formulas that all optimizers share, and dense Adam.
namespace kadam::reference {

struct Hyper {
  double lr = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool bias_correction = true;
  Format gradients = {};              ///< of gradients, and of their mean
  std::vector<double> schedule = {};  ///< learning rate of step t in entry t - 1; empty: lr

  [[nodiscard]] double c1(std::int64_t t) const {
    return bias_correction ? 1.0 - std::pow(beta1, static_cast<double>(t)) : 1.0;
  }
  [[nodiscard]] double c2(std::int64_t t) const {
    return bias_correction ? 1.0 - std::pow(beta2, static_cast<double>(t)) : 1.0;
  }
  /// With the learning rate of step t.
  [[nodiscard]] Hyper at(std::int64_t t) const {
    Hyper now = *this;
    if (!schedule.empty()) now.lr = schedule.at(static_cast<std::size_t>(t - 1));
    return now;
  }
};

/// The mean gradient of all ranks, rounded to the format that gradients have.
inline std::vector<float> gradient_mean(const Hyper& hyper, const Ranks& gradients) {
  return hyper.gradients.rounded(dense_mean(gradients));
}

inline float ema(float a, float b, double beta) {
  return static_cast<float>(beta) * a + static_cast<float>(1.0 - beta) * b;
}

/// (1 - gamma lambda) x
inline float decayed(const Hyper& hyper, float x) {
  return static_cast<float>(1.0 - hyper.lr * hyper.weight_decay) * x;
}

/// gamma (m / c1) / (sqrt(v / c2) + eps)
inline float direction(const Hyper& hyper, float m, float v, double c1, double c2) {
  return static_cast<float>(hyper.lr / c1) * m /
         (std::sqrt(v * static_cast<float>(1.0 / c2)) + static_cast<float>(hyper.eps));
}

inline float apply(const Hyper& hyper, float x, float m, float v, double c1, double c2) {
  return decayed(hyper, x) - direction(hyper, m, v, c1, c2);
}

struct Adam {
  Hyper hyper;
  std::vector<float> m;
  std::vector<float> v;
  std::int64_t t = 0;

  Adam(const Hyper& h, std::int64_t elements) : hyper(h), m(static_cast<std::size_t>(elements), 0.0F), v(m) {}

  void step(std::vector<float>& x, const Ranks& gradients) {
    ++t;
    const Hyper now = hyper.at(t);
    const std::vector<float> g = gradient_mean(hyper, gradients);
    for (std::size_t i = 0; i < x.size(); ++i) {
      m[i] = ema(m[i], g[i], hyper.beta1);
      v[i] = ema(v[i], g[i] * g[i], hyper.beta2);
      x[i] = apply(now, x[i], m[i], v[i], hyper.c1(t), hyper.c2(t));
    }
  }
};

}  // namespace kadam::reference
