// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/formulas.hpp>
#include <reference/simulation.hpp>

#include <cstdint>
#include <vector>

namespace kadam::reference {

/// Dense Adam.
struct Adam {
  Hyper hyper;
  std::vector<float> m;
  std::vector<float> v;
  std::int64_t t = 0;

  Adam(const Hyper& h, std::int64_t elements) : hyper(h), m(static_cast<std::size_t>(elements), 0.0F), v(m) {}

  void step(std::vector<float>& x, const Ranks& gradients) { step_by(x, gradient_mean(hyper, gradients)); }

  /// g: the clipped mean of the ranks' gradients.
  void step_by(std::vector<float>& x, const std::vector<float>& g) {
    ++t;
    const std::vector<Rates> rates = hyper.rates(t, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      m[i] = ema(m[i], g[i], hyper.beta1);
      v[i] = ema(v[i], g[i] * g[i], hyper.beta2);
      x[i] = apply(rates[i], hyper.eps, x[i], m[i], v[i], hyper.c1(t), hyper.c2(t));
    }
  }
};

/// Where moments lie changes nothing.
inline constexpr Reference adam_reference = {"adam", [](OptionReader& read, const World& world) {
                                               (void)read.number("shard_state", 0.0);
                                               return simulation_of(Adam(read.hyper(), world.elements));
                                             }};

}  // namespace kadam::reference
