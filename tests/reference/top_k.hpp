// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

/// The largest entries by plain sorting. The kernels must select the same. Nothing of Kadam is used here.
namespace kadam::reference {

/// Indices of the k largest |values| in [begin, end), ascending; k = max(1, floor(density len + 1/2)). The
/// lower index wins ties.
inline std::vector<std::int64_t> largest(const std::vector<float>& values, std::int64_t begin,
                                         std::int64_t end, double density) {
  const auto wanted = static_cast<std::int64_t>(std::floor(density * static_cast<double>(end - begin) + 0.5));
  const std::int64_t k = std::min(end - begin, std::max<std::int64_t>(1, wanted));
  std::vector<std::int64_t> order(static_cast<std::size_t>(end - begin));
  std::iota(order.begin(), order.end(), begin);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return std::fabs(values[static_cast<std::size_t>(a)]) > std::fabs(values[static_cast<std::size_t>(b)]);
  });
  order.resize(static_cast<std::size_t>(k));
  std::sort(order.begin(), order.end());
  return order;
}

/// largest() of every block of a vector; block = 0: the vector is one block.
inline std::vector<std::int64_t> largest_of_blocks(const std::vector<float>& values, std::int64_t block,
                                                   double density) {
  const auto elements = static_cast<std::int64_t>(values.size());
  const std::int64_t step = block == 0 ? std::max<std::int64_t>(1, elements) : block;
  std::vector<std::int64_t> all;
  for (std::int64_t begin = 0; begin < elements; begin += step) {
    const auto part = largest(values, begin, std::min(begin + step, elements), density);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace kadam::reference
