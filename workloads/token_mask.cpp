// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/random.hpp>
#include <workloads/token_mask.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kadam::workloads {
namespace {

/// What is shown in place of a chosen byte.
std::int32_t disguise(std::uint8_t byte, std::uint64_t stream, std::uint64_t& counter,
                      std::span<const std::uint8_t> text) {
  const std::uint64_t tenth = random_below(stream, counter, 10);
  if (tenth < 8) {
    return TokenMask::token;
  }
  return tenth == 8 ? text[random_below(stream, counter, text.size())] : byte;
}

}  // namespace

TokenMask::TokenMask(std::int64_t context, double fraction)
    : chosen_(std::clamp<std::int64_t>(std::llround(fraction * static_cast<double>(context)), 1, context)) {}

/// Goes through the window once and takes each token with the probability that makes all sets of that size
/// equally likely (Knuth's algorithm S).
void TokenMask::append(std::uint64_t stream, std::span<const std::uint8_t> window,
                       std::span<const std::uint8_t> text, MaskedWindows& windows) const {
  std::uint64_t counter = 0;
  auto wanted = static_cast<std::uint64_t>(chosen_);
  for (std::size_t i = 0; i < window.size(); ++i) {
    const std::uint8_t byte = window[i];
    if (random_below(stream, counter, window.size() - i) >= wanted) {
      windows.tokens.push_back(byte);
      continue;
    }
    --wanted;
    windows.positions.push_back(static_cast<std::int32_t>(windows.tokens.size()));
    windows.targets.push_back(byte);
    windows.tokens.push_back(disguise(byte, stream, counter, text));
  }
}

}  // namespace kadam::workloads
