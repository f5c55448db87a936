// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/number_format.hpp>
#include <reference/simulated_ranks.hpp>
#include <reference/tensors.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

/// The formulas that all optimizers share.
namespace kadam::reference {

/// Rates of one element in one step.
struct Rates {
  double lr;  ///< gamma, times the lr_scale of its group
  double weight_decay;
  double lr_scale;
};

/// The options that all optimizers share.
struct Hyper {
  double lr = 0.01;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool bias_correction = true;
  double clip_norm = 0.0;             ///< 0: no clipping
  Format gradients = {};              ///< format of the gradients and of their mean
  std::vector<double> schedule = {};  ///< learning rate of step t in entry t - 1; empty: lr
  std::vector<Tensor> tensors = {};   ///< elements outside of all tensors have the common rates

  [[nodiscard]] double c1(std::int64_t t) const {
    return bias_correction ? 1.0 - std::pow(beta1, static_cast<double>(t)) : 1.0;
  }
  [[nodiscard]] double c2(std::int64_t t) const {
    return bias_correction ? 1.0 - std::pow(beta2, static_cast<double>(t)) : 1.0;
  }
  /// gamma of step t.
  [[nodiscard]] double learning_rate(std::int64_t t) const {
    return schedule.empty() ? lr : schedule.at(static_cast<std::size_t>(t - 1));
  }
  /// Rates of a tensor in step t.
  [[nodiscard]] Rates rates_of(const Tensor& tensor, std::int64_t t) const {
    return {learning_rate(t) * tensor.lr_scale, tensor.weight_decay.value_or(weight_decay), tensor.lr_scale};
  }
  /// Rates of each element in step t.
  [[nodiscard]] std::vector<Rates> rates(std::int64_t t, std::size_t elements) const {
    std::vector<Rates> all(elements, Rates{learning_rate(t), weight_decay, 1.0});
    for (const Tensor& tensor : tensors) {
      for (std::int64_t i = tensor.begin; i < tensor.end; ++i) {
        all[static_cast<std::size_t>(i)] = rates_of(tensor, t);
      }
    }
    return all;
  }
  /// Which elements are kept out of compression: none on one rank, where nothing is compressed.
  [[nodiscard]] std::vector<bool> kept_dense(std::size_t elements, std::size_t ranks) const {
    std::vector<bool> dense(elements, false);
    for (const Tensor& tensor : tensors) {
      for (std::int64_t i = tensor.begin; i < tensor.end && tensor.dense && ranks > 1; ++i) {
        dense[static_cast<std::size_t>(i)] = true;
      }
    }
    return dense;
  }
};

inline double squared_norm(const std::vector<float>& values) {
  double sum = 0.0;
  for (const float value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

/// min(1, clip_norm / norm) times the values; the values if clip_norm is 0.
inline std::vector<float> clipped(const Hyper& hyper, std::vector<float> values, double norm) {
  if (hyper.clip_norm == 0.0 || norm <= hyper.clip_norm) return values;
  for (float& value : values) value *= static_cast<float>(hyper.clip_norm / norm);
  return values;
}

/// The mean gradient of all ranks, rounded to the format that gradients have, and clipped by its own norm.
inline std::vector<float> gradient_mean(const Hyper& hyper, const Ranks& gradients) {
  const std::vector<float> mean = hyper.gradients.rounded(dense_mean(gradients));
  return clipped(hyper, mean, std::sqrt(squared_norm(mean)));
}

/// The gradients of all ranks, each clipped by the root mean square of their norms.
inline Ranks own_gradients(const Hyper& hyper, Ranks gradients) {
  double mean_square = 0.0;
  for (const auto& g : gradients) mean_square += squared_norm(g) / static_cast<double>(gradients.size());
  for (auto& g : gradients) g = clipped(hyper, g, std::sqrt(mean_square));
  return gradients;
}

inline float ema(float a, float b, double beta) {
  return flushed(static_cast<float>(beta) * a + static_cast<float>(1.0 - beta) * b);
}

/// (1 - gamma lambda) x
inline float decayed(const Rates& rates, float x) {
  return static_cast<float>(1.0 - rates.lr * rates.weight_decay) * x;
}

/// gamma (m / c1) / (sqrt(v / c2) + eps)
inline float direction(const Rates& rates, double eps, float m, float v, double c1, double c2) {
  return static_cast<float>(rates.lr / c1) * m /
         (std::sqrt(v * static_cast<float>(1.0 / c2)) + static_cast<float>(eps));
}

/// A step of AdamW: (1 - gamma lambda) x - direction()
inline float apply(const Rates& rates, double eps, float x, float m, float v, double c1, double c2) {
  return decayed(rates, x) - direction(rates, eps, m, v, c1, c2);
}

}  // namespace kadam::reference
