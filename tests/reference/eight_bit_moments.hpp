// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/block_code.hpp>
#include <reference/tensors.hpp>
#include <reference/undecided.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam::reference {

/// Rounds moments to 8 bits, as they are kept after each step.
///
/// In a block of up to 256 elements of one tensor each is a share of the largest magnitude. In [2^e, 2^(e +
/// 1)) a share has one of eight values, chosen by chance. The smallest share above 0 is 1.25 2^-16 for
/// m, 1.25 2^-32 for v.
class EightBitMoments {
 public:
  static constexpr std::size_t block = 256;

  /// The first elements of all blocks, and d.
  static std::vector<std::size_t> blocks_of(const std::vector<Tensor>& tensors, std::size_t elements) {
    std::vector<std::size_t> begins;
    std::size_t covered = 0;
    const auto add = [&](std::size_t begin, std::size_t end) {
      for (std::size_t first = begin; first < end; first += block) begins.push_back(first);
      covered = end;
    };
    for (const Tensor& tensor : tensors) {
      add(static_cast<std::size_t>(tensor.begin), static_cast<std::size_t>(tensor.end));
    }
    add(covered, elements);
    begins.push_back(elements);
    return begins;
  }

  /// A share after rounding. chance: a random number in [0, 65536).
  static float share(float exact, bool is_m, std::uint32_t chance) {
    if (exact == 0.0F) return 0.0F;
    const double smallest = std::ldexp(1.25, is_m ? -16 : -32);
    int exponent = 0;
    (void)std::frexp(exact, &exponent);
    const double unit = std::ldexp(1.0, exponent - 4);
    // The middle of one of 65536 steps.
    const double up = (chance + 0.5) / 65536.0;
    double rounded = std::floor(static_cast<double>(exact) / unit + up) * unit;
    if (rounded < smallest) rounded = is_m ? 0.0 : smallest;
    return static_cast<float>(std::min(rounded, 1.0));
  }

  /// Rounds the values of a block. first: its first element in the vector. rounding: the step. value_off:
  /// bound on the rounding error of each value before. Appends to `undecided`, unless null, elements that
  /// this error may change.
  static void round_block(float* values, std::size_t count, std::size_t first, bool is_m,
                          std::uint32_t rounding, const float* value_off, Undecided* undecided) {
    float largest = 0.0F;
    for (std::size_t k = 0; k < count; ++k) largest = std::max(largest, std::fabs(values[k]));
    largest = std::min(largest, 0x1p126F);
    const float inverse = largest < 0x1p-126F ? 0.0F : 1.0F / largest;
    const auto place = static_cast<std::uint64_t>(first);
    const std::uint32_t start =
        scattered(static_cast<std::uint32_t>(place) ^
                  scattered(static_cast<std::uint32_t>(place >> 32U) ^ scattered(rounding)));
    for (std::size_t k = 0; k < count; ++k) {
      const std::uint32_t bits = start + 0x9e3779b9U * static_cast<std::uint32_t>(k);
      const std::uint32_t chance = is_m ? bits % 65536U : bits / 65536U;
      const float exact = std::fabs(values[k]) * inverse;
      const float rounded = share(exact, is_m, chance);
      if (undecided != nullptr) {
        const float off = value_off[k] * inverse;
        const bool may_differ = share(exact + off, is_m, chance) != rounded ||
                                share(std::max(exact - off, 0.0F), is_m, chance) != rounded;
        // The largest is 1 however it is rounded.
        if (may_differ && exact < 1.0F) undecided->push_back(first + k);
      }
      values[k] = std::copysign(rounded * (inverse == 0.0F ? 0.0F : largest), values[k]);
    }
  }
};

}  // namespace kadam::reference
