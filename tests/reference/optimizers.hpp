// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cmath>
#include <cstdint>
#include <reference/block_code.hpp>
#include <utility>
#include <vector>

/// The optimizers in one loop per formula over simulated ranks. Nothing of Kadam is used here.
namespace kadam::reference {

struct Hyper {
  double lr = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool bias_correction = true;

  [[nodiscard]] double c1(std::int64_t t) const {
    return bias_correction ? 1.0 - std::pow(beta1, static_cast<double>(t)) : 1.0;
  }
  [[nodiscard]] double c2(std::int64_t t) const {
    return bias_correction ? 1.0 - std::pow(beta2, static_cast<double>(t)) : 1.0;
  }
};

inline float ema(float a, float b, double beta) {
  return static_cast<float>(beta) * a + static_cast<float>(1.0 - beta) * b;
}

inline float apply(const Hyper& hyper, float x, float m, float v, double c1, double c2) {
  const auto decay = static_cast<float>(1.0 - hyper.lr * hyper.weight_decay);
  return decay * x - static_cast<float>(hyper.lr / c1) * m /
                         (std::sqrt(v * static_cast<float>(1.0 / c2)) + static_cast<float>(hyper.eps));
}

inline std::vector<float> dense_mean(const std::vector<std::vector<float>>& values) {
  std::vector<float> mean(values[0].size());
  const auto inverse = static_cast<float>(1.0 / static_cast<double>(values.size()));
  for (std::size_t i = 0; i < mean.size(); ++i) {
    float sum = values[0][i];
    for (std::size_t r = 1; r < values.size(); ++r) sum += values[r][i];
    mean[i] = sum * inverse;
  }
  return mean;
}

struct Adam {
  Hyper hyper;
  std::vector<float> m;
  std::vector<float> v;
  std::int64_t t = 0;

  Adam(const Hyper& h, std::int64_t elements) : hyper(h), m(static_cast<std::size_t>(elements), 0.0F), v(m) {}

  void step(std::vector<float>& x, const std::vector<std::vector<float>>& gradients) {
    ++t;
    const std::vector<float> g = dense_mean(gradients);
    for (std::size_t i = 0; i < x.size(); ++i) {
      m[i] = ema(m[i], g[i], hyper.beta1);
      v[i] = ema(v[i], g[i] * g[i], hyper.beta2);
      x[i] = apply(hyper, x[i], m[i], v[i], hyper.c1(t), hyper.c2(t));
    }
  }
};

struct Lamb {
  Hyper hyper;
  double trust_min = 0.01;
  double trust_max = 10.0;
  std::vector<std::pair<std::int64_t, std::int64_t>> tensors;
  std::vector<float> m;
  std::vector<float> v;
  std::int64_t t = 0;

  Lamb(const Hyper& h, std::vector<std::pair<std::int64_t, std::int64_t>> tensor_ranges,
       std::int64_t elements)
      : hyper(h), tensors(std::move(tensor_ranges)), m(static_cast<std::size_t>(elements), 0.0F), v(m) {}

  void step(std::vector<float>& x, const std::vector<std::vector<float>>& gradients) {
    ++t;
    const std::vector<float> g = dense_mean(gradients);
    for (const auto& [begin, end] : tensors) {
      double x_squared = 0.0;
      double u_squared = 0.0;
      std::vector<float> u;
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
        m[i] = ema(m[i], g[i], hyper.beta1);
        v[i] = ema(v[i], g[i] * g[i], hyper.beta2);
        const auto corrected = static_cast<float>(1.0 / hyper.c1(t)) * m[i];
        u.push_back(corrected / (std::sqrt(v[i] * static_cast<float>(1.0 / hyper.c2(t))) +
                                 static_cast<float>(hyper.eps)) +
                    static_cast<float>(hyper.weight_decay) * x[i]);
        x_squared += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        u_squared += static_cast<double>(u.back()) * static_cast<double>(u.back());
      }
      double phi = x_squared > 0.0 && u_squared > 0.0 ? std::sqrt(x_squared) / std::sqrt(u_squared) : 1.0;
      phi = std::clamp(phi, trust_min, trust_max);
      for (std::int64_t i = begin; i < end; ++i) {
        x[static_cast<std::size_t>(i)] -=
            static_cast<float>(hyper.lr * phi) * u[static_cast<std::size_t>(i - begin)];
      }
    }
  }
};

/// 1-bit Adam and APMSqueeze: dense Adam, then a frozen variance and a compressed momentum.
struct FrozenVarianceAdam {
  Adam adam;
  CompressedMean mean;
  std::int64_t warmup_steps;
  std::vector<bool> active;

  FrozenVarianceAdam(const Hyper& hyper, const Code& code, std::int64_t warmup, int ranks,
                     std::int64_t elements)
      : adam(hyper, elements),
        mean(code, ranks, elements),
        warmup_steps(warmup),
        active(static_cast<std::size_t>(elements), true) {}

  void step(std::vector<float>& x, const std::vector<std::vector<float>>& gradients) {
    if (adam.t < warmup_steps) {
      adam.step(x, gradients);
      if (adam.t == warmup_steps) freeze();
      return;
    }
    ++adam.t;
    std::vector<std::vector<float>> y = gradients;
    for (auto& rank : y) {
      for (std::size_t i = 0; i < rank.size(); ++i) rank[i] = ema(adam.m[i], rank[i], adam.hyper.beta1);
    }
    const std::vector<float> out = mean(y, active);
    for (std::size_t i = 0; i < x.size(); ++i) {
      adam.m[i] = active[i] ? out[i] : 0.0F;  // inactive coordinates only decay
      x[i] = apply(adam.hyper, x[i], adam.m[i], adam.v[i], 1.0, 1.0);
    }
  }

  void freeze() {
    for (std::size_t i = 0; i < active.size(); ++i) {
      active[i] = adam.v[i] > 0.0F;
      adam.m[i] = active[i] ? adam.m[i] * static_cast<float>(1.0 / adam.hyper.c1(adam.t)) : 0.0F;
      adam.v[i] *= static_cast<float>(1.0 / adam.hyper.c2(adam.t));
    }
  }
};

}  // namespace kadam::reference
