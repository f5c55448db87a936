// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace kadam::test {

/// A random vector of magnitudes up to 0.01, 0.1, 1 or 10, with some zeros of both signs and denormals.
inline std::vector<float> random_vector(std::int64_t elements, std::uint64_t seed) {
  constexpr double decades[] = {0.01, 0.1, 1.0, 10.0};
  std::mt19937_64 engine(seed);
  std::vector<float> values(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = engine();
    const double unit = static_cast<double>(bits >> 11) * 0x1.0p-53;
    values[i] = static_cast<float>((2.0 * unit - 1.0) * decades[bits % 4]);
    if (i % 97 == 13) values[i] = 0.0F;
    if (i % 97 == 14) values[i] = -0.0F;
    if (i % 97 == 15) values[i] = std::numeric_limits<float>::denorm_min() * static_cast<float>(1 + bits % 9);
  }
  return values;
}

/// The gradient of one rank and step: random_vector(), but elements with i % 11 == 5 are always 0, and those
/// with i % 13 == 3 are 0 in six steps of seven.
inline std::vector<float> random_gradient(std::int64_t elements, int rank, std::int64_t step) {
  auto values = random_vector(
      elements, 1000003U * static_cast<std::uint64_t>(step) + static_cast<std::uint64_t>(rank) + 1U);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % 11 == 5 || (i % 13 == 3 && (step + static_cast<std::int64_t>(i)) % 7 != 0)) values[i] = 0.0F;
  }
  return values;
}

}  // namespace kadam::test
