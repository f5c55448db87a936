// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <reference/adam.hpp>
#include <reference/block_code.hpp>
#include <vector>

namespace kadam::reference {

/// LoCo: low-bit gradients with a moving average of their errors, kept in 8 bits; AdamW on what arrives.
struct Loco {
  Adam adam;  ///< of all chunks; the owner of a chunk holds its part
  Code code;
  double error_beta;
  std::int64_t error_reset;
  Ranks error;
  bool rounds = false;             ///< parameters travel as bfloat16
  std::vector<float> master = {};  ///< what they are rounded from
  int chunks;                      ///< as many as there are ranks

  Loco(const Hyper& hyper, const Code& c, double beta, std::int64_t reset, int ranks, std::int64_t elements)
      : adam(hyper, elements),
        code(c),
        error_beta(beta),
        error_reset(reset),
        error(zeros(ranks / c.ranks_per_node, elements)),
        chunks(ranks) {
    adam.hyper.gradients = {};  // what the owner averages stays float32
  }

  void step(std::vector<float>& x, const Ranks& of_ranks) {
    const Ranks gradients = node_means(of_ranks, code.ranks_per_node);
    if (chunks == 1) {
      adam.step(x, gradients);
      return;
    }
    Ranks q = gradients;
    for (std::size_t r = 0; r < q.size() && q.size() > 1; ++r) {  // one node sends no gradient
      std::vector<float> h = gradients[r];
      for (std::size_t i = 0; i < h.size(); ++i) h[i] += error[r][i];
      q[r] = quantised(code, h);
      for (std::size_t i = 0; i < h.size(); ++i) h[i] = ema(error[r][i], h[i] - q[r][i], error_beta);
      error[r] = quantised({.bits = 8, .block = code.block}, h);
    }
    if (rounds && adam.t == 0) master = x;
    adam.step(rounds ? master : x, q);
    if (rounds) x = Format::named("bf16").rounded(master);
    if (adam.t % error_reset == 0)
      error = zeros(static_cast<int>(q.size()), static_cast<std::int64_t>(x.size()));
  }

  /// decoded C(h), chunk by chunk
  [[nodiscard]] std::vector<float> quantised(const Code& by, const std::vector<float>& h) const {
    const auto elements = static_cast<std::int64_t>(h.size());
    const std::vector<bool> active(h.size(), true);
    std::vector<float> q(h.size(), 0.0F);
    for (int j = 0; j < chunks; ++j) quantise_chunk(by, h, active, chunk_of(elements, chunks, j), q);
    return q;
  }
};

}  // namespace kadam::reference
