// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/adam.hpp>
#include <reference/block_code.hpp>
#include <reference/simulation.hpp>
#include <reference/warmup_mean.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace kadam::reference {

/// 1-bit Adam and APMSqueeze: Adam on the mean gradient, then a frozen variance and a compressed momentum.
struct FrozenVarianceAdam {
  Adam adam;
  CompressedMean mean;          ///< of the momentum, after the warm-up
  WarmupMean warmup_mean = {};  ///< of the gradient, in the warm-up
  std::int64_t warmup_steps;
  std::vector<bool> active;
  bool precondition = false;  ///< compresses y / (sqrt(v) + eps) in place of y
  double variance_floor = 0.1;

  FrozenVarianceAdam(const Hyper& hyper, const Code& code, std::int64_t warmup, int ranks,
                     std::int64_t elements)
      : adam(hyper, elements),
        mean(code, ranks, elements),
        warmup_steps(warmup),
        active(static_cast<std::size_t>(elements), true) {}

  void step(std::vector<float>& x, const Ranks& gradients) {
    if (adam.t < warmup_steps) {
      adam.step_by(x, warmup_mean(adam.hyper, gradients));
      if (adam.t == warmup_steps) freeze();
      return;
    }
    ++adam.t;
    const Hyper& hyper = adam.hyper;
    Ranks y = own_gradients(hyper, gradients);
    for (auto& rank : y) {
      for (std::size_t i = 0; i < rank.size(); ++i) rank[i] = ema(adam.m[i], rank[i], hyper.beta1);
    }
    const std::vector<bool> dense = hyper.kept_dense(x.size(), y.size());
    const std::vector<float> averaged = with_exact_mean(compressed_mean(y, dense), y, dense);
    const std::vector<Rates> rates = hyper.rates(adam.t, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      adam.m[i] = active[i] ? averaged[i] : 0.0F;  // inactive coordinates only decay
      x[i] = apply(rates[i], hyper.eps, x[i], adam.m[i], adam.v[i], 1.0, 1.0);
    }
  }

  /// C-AR(y), or D C-AR(y / D) with D of preconditioner(), of elements that are active and not kept dense.
  std::vector<float> compressed_mean(Ranks y, const std::vector<bool>& dense) {
    std::vector<bool> in_code(active.size());
    for (std::size_t i = 0; i < in_code.size(); ++i) in_code[i] = active[i] && !dense[i];
    for (auto& rank : y) {
      for (std::size_t i = 0; i < rank.size(); ++i) rank[i] /= preconditioner(i);
    }
    std::vector<float> out = mean(y, in_code);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] *= preconditioner(i);
    return out;
  }
  [[nodiscard]] const Undecided& undecided() const {
    return warmup_mean.undecided(adam.t <= warmup_steps, mean);
  }

  [[nodiscard]] float preconditioner(std::size_t i) const {
    return precondition ? std::sqrt(adam.v[i]) + static_cast<float>(adam.hyper.eps) : 1.0F;
  }

  void freeze() {
    raise_variance(mean.code, variance_floor, adam.hyper.eps * std::sqrt(adam.hyper.c2(adam.t)), mean.chunks,
                   adam.v);
    for (std::size_t i = 0; i < active.size(); ++i) {
      active[i] = adam.v[i] > 0.0F;
      adam.m[i] = active[i] ? adam.m[i] * static_cast<float>(1.0 / adam.hyper.c1(adam.t)) : 0.0F;
      adam.v[i] *= static_cast<float>(1.0 / adam.hyper.c2(adam.t));
    }
  }
};

inline FrozenVarianceAdam make_frozen_variance_adam(OptionReader& read, const World& world,
                                                    const std::string& code) {
  FrozenVarianceAdam frozen(read.hyper(), read.code(code), read.count("warmup_steps", 0), world.ranks,
                            world.elements);
  frozen.warmup_mean = make_warmup_mean(read, world, frozen.mean.code);
  frozen.precondition = read.number("precondition", 0.0) != 0.0;
  frozen.variance_floor = read.number("variance_floor", frozen.variance_floor);
  return frozen;
}

inline constexpr Reference onebit_adam_reference = {
    "onebit_adam", [](OptionReader& read, const World& world) {
      return simulation_of(make_frozen_variance_adam(read, world, "sign"));
    }};

inline constexpr Reference apmsqueeze_reference = {"apmsqueeze", [](OptionReader& read, const World& world) {
                                                     FrozenVarianceAdam apmsqueeze =
                                                         make_frozen_variance_adam(read, world, "uniform4");
                                                     apmsqueeze.adam.hyper.bias_correction = false;
                                                     return simulation_of(apmsqueeze);
                                                   }};

}  // namespace kadam::reference
