// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <reference/adam.hpp>
#include <utility>
#include <vector>

namespace kadam::reference {

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;  ///< [begin, end) of each tensor

struct Lamb {
  Hyper hyper;
  double trust_min = 0.01;
  double trust_max = 10.0;
  Ranges tensors;
  std::vector<float> m;
  std::vector<float> v;
  std::vector<double> trust;  ///< phi of each tensor in the last step
  std::int64_t t = 0;

  Lamb(const Hyper& h, Ranges tensor_ranges, std::int64_t elements)
      : hyper(h),
        tensors(std::move(tensor_ranges)),
        m(static_cast<std::size_t>(elements), 0.0F),
        v(m),
        trust(tensors.size(), 1.0) {}

  void step(std::vector<float>& x, const Ranks& gradients) {
    ++t;
    const Hyper now = hyper.at(t);
    const std::vector<float> g = gradient_mean(hyper, gradients);
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      const auto [begin, end] = tensors[k];
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
      trust[k] = phi;
      for (std::int64_t i = begin; i < end; ++i) {
        x[static_cast<std::size_t>(i)] -=
            static_cast<float>(now.lr * phi) * u[static_cast<std::size_t>(i - begin)];
      }
    }
  }
};

}  // namespace kadam::reference
