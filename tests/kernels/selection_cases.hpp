// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <support/random_vectors.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace kadam::test {

/// Vectors that are hard to select from.
inline std::vector<std::pair<std::string, std::vector<float>>> selection_cases(std::int64_t elements) {
  const auto n = static_cast<std::size_t>(elements);
  const float inf = std::numeric_limits<float>::infinity();
  const float tiny = std::numeric_limits<float>::denorm_min();
  std::vector<std::pair<std::string, std::vector<float>>> cases;
  cases.emplace_back("random", random_vector(elements, 11));
  cases.emplace_back("zeros of both signs", std::vector<float>(n, 0.0F));
  cases.emplace_back("all equal", std::vector<float>(n, -2.5F));
  cases.emplace_back("few values", random_vector(elements, 12));
  cases.emplace_back("denormals", random_vector(elements, 13));
  cases.emplace_back("infinities", random_vector(elements, 14));
  cases.emplace_back("large ones together", random_vector(elements, 15));
  cases.emplace_back("large ones 16 apart", random_vector(elements, 16));
  cases.emplace_back("large ones at the end", random_vector(elements, 18));
  for (std::size_t i = 0; i < n; ++i) {
    cases[1].second[i] = i % 3 == 0 ? -0.0F : 0.0F;
    cases[3].second[i] = std::floor(cases[3].second[i]);
    cases[4].second[i] = std::copysign(tiny * static_cast<float>(i % 61), cases[4].second[i]);
    if (i % 50 == 7) cases[5].second[i] = i % 100 == 7 ? inf : -inf;
    if (i % 1024 < 300) cases[6].second[i] += 1e4F;
    if (i % 16 == 5) cases[7].second[i] -= 1e4F;
    if (100 * (n - i) < 2 * n) cases[8].second[i] += 1e4F;
  }
  return cases;
}

}  // namespace kadam::test
