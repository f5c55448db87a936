// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <reference/block_code.hpp>
#include <reference/local_moments.hpp>
#include <vector>

namespace kadam::reference {

/// Efficient-Adam: local moments, a compressed mean of the directions.
struct EfficientAdam {
  LocalMoments moments;
  CompressedMean mean;

  EfficientAdam(const Hyper& hyper, const Code& code, int ranks, std::int64_t elements)
      : moments(hyper, 0, 0, 0, ranks, elements), mean(code, ranks, elements) {}

  void step(std::vector<float>& x, const Ranks& gradients) {
    const std::vector<float> step = mean(moments.directions(gradients), std::vector<bool>(x.size(), true));
    const Hyper now = moments.hyper.at(moments.t);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = decayed(now, x[i]) - step[i];
  }
};

}  // namespace kadam::reference
