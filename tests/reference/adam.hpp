// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/eight_bit_moments.hpp>
#include <reference/formulas.hpp>
#include <reference/simulation.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace kadam::reference {

/// Dense Adam.
struct Adam {
  Hyper hyper;
  std::vector<float> m;
  std::vector<float> v;
  std::int64_t t = 0;
  bool in_8_bits = false;  ///< m and v are rounded to 8 bits after each step
  Undecided of_step = {};  ///< elements whose rounding in the last step is undecided

  Adam(const Hyper& h, std::int64_t elements, bool eight_bits = false)
      : hyper(h), m(static_cast<std::size_t>(elements), 0.0F), v(m), in_8_bits(eight_bits) {}

  void step(std::vector<float>& x, const Ranks& gradients) { step_by(x, gradient_mean(hyper, gradients)); }

  /// g: the clipped mean of the ranks' gradients.
  void step_by(std::vector<float>& x, const std::vector<float>& g) {
    ++t;
    const std::vector<float> m_before = m;
    const std::vector<Rates> rates = hyper.rates(t, x.size());
    const double c1 = hyper.c1(t);
    const double c2 = hyper.c2(t);
    for (std::size_t i = 0; i < x.size(); ++i) {
      m[i] = ema(m[i], g[i], hyper.beta1);
      v[i] = ema(v[i], g[i] * g[i], hyper.beta2);
      x[i] = apply(rates[i], hyper.eps, x[i], m[i], v[i], c1, c2);
    }
    of_step.clear();
    if (in_8_bits) round_moments(m_before, g, static_cast<std::uint32_t>(t));
  }
  [[nodiscard]] Undecided undecided() const { return of_step; }

 private:
  void round_moments(const std::vector<float>& m_before, const std::vector<float>& g,
                     std::uint32_t rounding_of_step) {
    std::vector<float> m_off(m.size());
    std::vector<float> v_off(m.size());
    for (std::size_t i = 0; i < m.size(); ++i) {
      // m may be a small difference of large numbers.
      m_off[i] = rounding * (std::fabs(m_before[i]) + std::fabs(g[i]) + std::fabs(m[i]));
      v_off[i] = rounding * v[i];
    }
    const std::vector<std::size_t> begins = EightBitMoments::blocks_of(hyper.tensors, m.size());
    for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
      const std::size_t first = begins[b];
      const std::size_t count = begins[b + 1] - first;
      EightBitMoments::round_block(&m[first], count, first, true, rounding_of_step, &m_off[first], &of_step);
      EightBitMoments::round_block(&v[first], count, first, false, rounding_of_step, &v_off[first], &of_step);
    }
  }
};

/// The option shard_state changes no result: it only says which rank keeps the moments.
inline constexpr Reference adam_reference = {
    "adam", [](OptionReader& read, const World& world) {
      (void)read.number("shard_state", 0.0);
      const bool eight_bits = read.is("moments", "8bit");
      return simulation_of(Adam(read.hyper(), world.elements, eight_bits));
    }};

}  // namespace kadam::reference
