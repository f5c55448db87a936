// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/adam.hpp>
#include <reference/simulation.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kadam::reference {

struct Lamb {
  Hyper hyper;
  double trust_min = 0.01;
  double trust_max = 10.0;
  std::vector<float> m;
  std::vector<float> v;
  std::vector<double> trust;  ///< phi of each tensor in the last step
  std::int64_t t = 0;

  /// Updates the tensors of `h`; elements outside of them stay.
  Lamb(const Hyper& h, std::int64_t elements)
      : hyper(h), m(static_cast<std::size_t>(elements), 0.0F), v(m), trust(hyper.tensors.size(), 1.0) {}

  void step(std::vector<float>& x, const Ranks& gradients) { step_by(x, gradient_mean(hyper, gradients)); }

  /// g: the clipped mean of the ranks' gradients.
  void step_by(std::vector<float>& x, const std::vector<float>& g) {
    ++t;
    const auto inverse_c1 = static_cast<float>(1.0 / hyper.c1(t));
    const auto inverse_c2 = static_cast<float>(1.0 / hyper.c2(t));
    for (std::size_t k = 0; k < hyper.tensors.size(); ++k) {
      const Tensor& tensor = hyper.tensors[k];
      const Rates rates = hyper.rates_of(tensor, t);
      double x_squared = 0.0;
      double u_squared = 0.0;
      std::vector<float> u;
      for (auto i = static_cast<std::size_t>(tensor.begin); i < static_cast<std::size_t>(tensor.end); ++i) {
        m[i] = ema(m[i], g[i], hyper.beta1);
        v[i] = ema(v[i], g[i] * g[i], hyper.beta2);
        u.push_back(inverse_c1 * m[i] / (std::sqrt(v[i] * inverse_c2) + static_cast<float>(hyper.eps)) +
                    static_cast<float>(rates.weight_decay) * x[i]);
        x_squared += static_cast<double>(x[i]) * static_cast<double>(x[i]);
        u_squared += static_cast<double>(u.back()) * static_cast<double>(u.back());
      }
      double phi = x_squared > 0.0 && u_squared > 0.0 ? std::sqrt(x_squared) / std::sqrt(u_squared) : 1.0;
      phi = std::clamp(phi, trust_min, trust_max);
      trust[k] = phi;
      for (std::size_t j = 0; j < u.size(); ++j) {
        x[static_cast<std::size_t>(tensor.begin) + j] -= static_cast<float>(rates.lr * phi) * u[j];
      }
    }
  }
};

inline Lamb make_lamb(OptionReader& read, const World& world) {
  Lamb lamb(read.hyper(), world.elements);
  lamb.trust_min = read.number("trust_min", lamb.trust_min);
  lamb.trust_max = read.number("trust_max", lamb.trust_max);
  return lamb;
}

inline constexpr Reference lamb_reference = {
    "lamb", [](OptionReader& read, const World& world) { return simulation_of(make_lamb(read, world)); }};

}  // namespace kadam::reference
