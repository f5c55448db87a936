// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

/// Sparse means by plain sorting, over simulated ranks: what the kernels must equal. Nothing of Kadam is used
/// here.
namespace kadam::reference {

/// Indices of the k largest |values| in [begin, end), ascending; of equal ones the lower index first.
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

/// The same of every block of a vector; block = 0: one block.
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

/// The sparse mean over simulated ranks: every rank sends its largest entries and x <- x - (1/n) sum of what
/// was sent. reduced: only the largest entries of that mean are delivered, the others stay where they were.
struct SparseMean {
  double density;
  std::int64_t block;  ///< 0: one
  bool reduced = false;

  void operator()(std::vector<std::vector<float>>& residual, std::vector<float>& x) const {
    const std::size_t ranks = residual.size();
    const auto inverse = static_cast<float>(1.0 / static_cast<double>(ranks));
    std::vector<std::vector<bool>> sent(ranks, std::vector<bool>(x.size(), ranks == 1));
    std::vector<float> mean(x.size(), 0.0F);
    for (std::size_t r = 0; r < ranks; ++r) {
      if (ranks > 1) {
        for (const std::int64_t i : largest_of_blocks(residual[r], block, density))
          sent[r][static_cast<std::size_t>(i)] = true;
      }
      for (std::size_t i = 0; i < x.size(); ++i) mean[i] += sent[r][i] ? residual[r][i] : 0.0F;
    }
    for (float& value : mean) value *= inverse;
    std::vector<bool> kept(x.size(), true);
    if (reduced && ranks > 1) {
      kept.assign(x.size(), false);
      for (const std::int64_t i : largest_of_blocks(mean, block, density))
        kept[static_cast<std::size_t>(i)] = true;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!kept[i]) continue;
      x[i] -= mean[i];
      for (std::size_t r = 0; r < ranks; ++r) residual[r][i] = sent[r][i] ? 0.0F : residual[r][i];
    }
  }
};

}  // namespace kadam::reference
