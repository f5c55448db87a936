// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/block_code.hpp>
#include <reference/local_moments.hpp>
#include <reference/simulation.hpp>

#include <cstdint>
#include <vector>

namespace kadam::reference {

/// Efficient-Adam: local moments, a compressed mean of the directions.
struct EfficientAdam {
  LocalMoments moments;
  CompressedMean mean;

  EfficientAdam(const Hyper& hyper, const Code& code, int ranks, std::int64_t elements)
      : moments(hyper, 0, 0, 0, ranks, elements), mean(code, ranks, elements) {}

  void step(std::vector<float>& x, const Ranks& gradients) {
    const Ranks y = moments.directions(gradients);
    const std::vector<Rates> rates = moments.hyper.rates(moments.t, x.size());
    const std::vector<bool> dense = moments.hyper.kept_dense(x.size(), y.size());
    std::vector<bool> active(x.size());  // what does not move is left out of the code
    for (std::size_t i = 0; i < x.size(); ++i) active[i] = !dense[i] && rates[i].lr_scale != 0.0;
    const std::vector<float> step = with_exact_mean(mean(y, active), y, dense);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = decayed(rates[i], x[i]) - step[i];
  }
  [[nodiscard]] const Undecided& undecided() const { return mean.undecided; }
};

inline constexpr Reference efficient_adam_reference = {
    "efficient_adam", [](OptionReader& read, const World& world) {
      return simulation_of(EfficientAdam(read.hyper(), read.code("uniform4"), world.ranks, world.elements));
    }};

}  // namespace kadam::reference
