// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/block_code.hpp>
#include <reference/local_moments.hpp>
#include <reference/simulation.hpp>

#include <cstdint>
#include <utility>
#include <vector>

namespace kadam::reference {

/// Efficient-Adam: local moments, a compressed mean of the directions.
struct EfficientAdam {
  LocalMoments moments;
  CompressedMean mean;

  EfficientAdam(LocalMoments local, const Code& code, const World& world)
      : moments(std::move(local)), mean(code, world.ranks, world.elements) {}

  void step(std::vector<float>& x, const Ranks& gradients) {
    const Ranks y = moments.directions(gradients);
    const std::vector<Rates> rates = moments.hyper.rates(moments.t, x.size());
    const std::vector<bool> dense = moments.hyper.kept_dense(x.size(), y.size());
    std::vector<bool> active(x.size());  // elements that do not move are left out of the code
    for (std::size_t i = 0; i < x.size(); ++i) active[i] = !dense[i] && rates[i].lr_scale != 0.0;
    const std::vector<float> step = with_exact_mean(mean(y, active), y, dense);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = decayed(rates[i], x[i]) - step[i];
  }
  [[nodiscard]] const Undecided& undecided() const { return mean.undecided; }
};

inline constexpr Reference efficient_adam_reference = {
    "efficient_adam", [](OptionReader& read, const World& world) {
      const bool is_factored = read.is("variance", "factored");
      const std::int64_t interval = is_factored ? read.count("variance_sync_interval", 10) : 0;
      LocalMoments moments(read.hyper(), 0, interval, 0, world.ranks, world.elements);
      if (is_factored) moments.factor(world);
      return simulation_of(EfficientAdam(std::move(moments), read.code("uniform4"), world));
    }};

}  // namespace kadam::reference
