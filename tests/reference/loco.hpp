// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/adam.hpp>
#include <reference/block_code.hpp>
#include <reference/simulation.hpp>

#include <cmath>
#include <cstdint>
#include <vector>

namespace kadam::reference {

/// LoCo: low-bit gradients with a moving average of their errors, kept in 8 bits; AdamW on the mean of the
/// decoded gradients.
struct Loco {
  Adam adam;  ///< of all chunks; in Kadam each owner holds the part of its chunk
  Code code;
  double error_beta;
  std::int64_t error_reset;
  Ranks error;                     ///< [rank or node][d]
  bool rounds = false;             ///< parameters travel as bfloat16
  std::vector<float> master = {};  ///< float32 parameters from which they are rounded
  int chunks;                      ///< number of ranks
  Undecided undecided_elements = {};

  Loco(const Hyper& hyper, const Code& c, double beta, std::int64_t reset, int ranks, std::int64_t elements)
      : adam(hyper, elements),
        code(c),
        error_beta(beta),
        error_reset(reset),
        error(zeros(ranks / c.ranks_per_node, elements)),
        chunks(ranks) {
    adam.hyper.gradients = {};  // the owner's mean stays float32
  }

  void step(std::vector<float>& x, const Ranks& of_ranks) {
    const Ranks gradients = node_means(of_ranks, code.ranks_per_node);
    if (chunks == 1) {
      adam.step(x, gradients);
      return;
    }
    undecided_elements.clear();
    const std::vector<bool> dense = adam.hyper.kept_dense(x.size(), of_ranks.size());
    Ranks q = gradients;
    for (std::size_t r = 0; r < q.size() && q.size() > 1; ++r) {  // one node sends no gradient
      std::vector<float> h = gradients[r];
      for (std::size_t i = 0; i < h.size(); ++i) h[i] += error[r][i];
      q[r] = quantised(code, h, dense);
      for (std::size_t i = 0; i < h.size(); ++i) h[i] = ema(error[r][i], h[i] - q[r][i], error_beta);
      error[r] = quantised({.name = "uniform8", .block = code.block}, h, dense);
      for (std::size_t i = 0; i < h.size(); ++i) q[r][i] = dense[i] ? gradients[r][i] : q[r][i];
    }
    if (rounds && adam.t == 0) master = x;
    const std::vector<float> before = master;
    adam.step(rounds ? master : x, q);
    if (rounds) round_parameters(before, x);
    if (adam.t % error_reset == 0)
      error = zeros(static_cast<int>(q.size()), static_cast<std::int64_t>(x.size()));
  }

  [[nodiscard]] const Undecided& undecided() const { return undecided_elements; }

  /// x <- master, rounded to bf16. An element that moved near the middle between two bf16 numbers is
  /// undecided.
  void round_parameters(const std::vector<float>& before, std::vector<float>& x) {
    const Format bf16 = Format::named("bf16");
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = bf16.rounded(master[i]);
      const float reach = rounding * (0.01F + std::fabs(master[i]));
      const bool is_near_middle = bf16.rounded(master[i] - reach) != bf16.rounded(master[i] + reach);
      if (master[i] != before[i] && is_near_middle && std::fabs(master[i]) > 0.01F)
        undecided_elements.push_back(i);
    }
  }

  /// decoded C(h) of elements that are not kept dense, chunk by chunk; 0 elsewhere
  [[nodiscard]] std::vector<float> quantised(const Code& by, const std::vector<float>& h,
                                             const std::vector<bool>& dense) {
    const auto elements = static_cast<std::int64_t>(h.size());
    std::vector<bool> active = dense;
    active.flip();
    std::vector<float> q(h.size(), 0.0F);
    for (int j = 0; j < chunks; ++j)
      quantise_chunk(by, h, active, chunk_of(elements, chunks, j), q, &undecided_elements);
    return q;
  }
};

inline constexpr Reference loco_reference = {
    "loco", [](OptionReader& read, const World& world) {
      Loco loco(read.hyper(), read.code("uniform4", 256), read.number("error_beta", 0.8),
                read.count("error_reset", 512), world.ranks, world.elements);
      loco.rounds = read.is("parameters", "bf16");
      return simulation_of(loco);
    }};

}  // namespace kadam::reference
