// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/block_code.hpp>
#include <reference/option_reader.hpp>
#include <reference/simulated_ranks.hpp>
#include <reference/two_levels.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace kadam::reference {

/// Indices of the max(1, floor(density len + 1/2)) largest magnitudes in a block; the lower index wins ties.
/// Appends to `undecided` the last one selected and the first one not selected if only rounding decided
/// between them.
inline std::vector<std::size_t> largest_in(const std::vector<float>& values, Chunk block, double density,
                                           Undecided* undecided = nullptr, float slack = 1.0F) {
  std::vector<std::size_t> order(static_cast<std::size_t>(block.end - block.begin));
  std::iota(order.begin(), order.end(), static_cast<std::size_t>(block.begin));
  const auto wanted = static_cast<std::size_t>(std::floor(density * static_cast<double>(order.size()) + 0.5));
  const std::size_t k = std::min(order.size(), std::max<std::size_t>(1, wanted));
  const std::size_t sorted = std::min(order.size(), k + 1);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(sorted), order.end(),
                    [&values](std::size_t a, std::size_t b) {
                      const float of_a = std::fabs(values[a]);
                      const float of_b = std::fabs(values[b]);
                      return of_a > of_b || (of_a == of_b && a < b);
                    });
  if (undecided != nullptr && sorted > k &&
      is_near_tie(std::fabs(values[order[k - 1]]), std::fabs(values[order[k]]), slack)) {
    undecided->insert(undecided->end(), {order[k - 1], order[k]});
  }
  order.resize(k);
  return order;
}

/// Mean over ranks of the largest entries of each rank's residual, block by block of the flat vector.
struct SparseMean {
  double density = 0.01;
  std::int64_t select_block = 4096;  ///< 0: one block for all, or one per owner
  bool two_levels = false;           ///< a value is sent as sign and one bit; the rest stays in the residual
  bool by_owner = false;             ///< the owner of a block applies only the largest of its mean
  float slack = 1.0F;                ///< factor on the distance within which rounding may decide
  Undecided undecided = {};          ///< of the last exchange

  /// Returns the mean of the sent entries. Subtracts each applied entry from the residual of the ranks that
  /// sent it.
  std::vector<float> operator()(Ranks& residual) {
    undecided.clear();
    if (residual.size() == 1) {
      std::vector<float> all(residual[0].size(), 0.0F);
      all.swap(residual[0]);
      return all;
    }
    const auto elements = static_cast<std::int64_t>(residual[0].size());
    Ranks sent = zeros(static_cast<int>(residual.size()), elements);
    std::vector<bool> applied(residual[0].size(), !by_owner);
    std::vector<std::vector<bool>> selected(residual.size(), std::vector<bool>(residual[0].size(), false));
    const std::vector<Chunk> blocks = blocks_of(elements, static_cast<int>(residual.size()));
    for (const Chunk& block : blocks) {
      for (std::size_t r = 0; r < residual.size(); ++r) {
        const std::vector<std::size_t> largest = largest_in(residual[r], block, density, &undecided, slack);
        const TwoLevels levels = TwoLevels::of(residual[r], largest);
        for (const std::size_t i : largest) {
          sent[r][i] = two_levels ? levels.decoded(residual[r][i]) : residual[r][i];
          selected[r][i] = true;
          const float a = std::fabs(residual[r][i]);
          const auto border = static_cast<float>(levels.border);
          if (two_levels && levels.high != levels.low &&
              is_near_tie(std::max(a, border), std::min(a, border), slack)) {
            undecided.push_back(i);
          }
        }
      }
    }
    std::vector<float> mean = dense_mean(sent);
    for (const Chunk& block : blocks) {
      if (!by_owner) break;
      for (const std::size_t i : largest_in(mean, block, density, &undecided)) applied[i] = true;
    }
    for (std::size_t i = 0; i < mean.size(); ++i) {
      if (!applied[i]) mean[i] = 0.0F;
      for (std::size_t r = 0; r < residual.size(); ++r) {
        if (applied[i] && selected[r][i]) residual[r][i] -= sent[r][i];
      }
    }
    return mean;
  }

  [[nodiscard]] std::vector<Chunk> blocks_of(std::int64_t elements, int ranks) const {
    std::vector<Chunk> blocks;
    if (select_block == 0 && by_owner) {
      for (int j = 0; j < ranks; ++j) {
        const Chunk chunk = chunk_of(elements, ranks, j);
        if (chunk.begin < chunk.end) blocks.push_back(chunk);
      }
      return blocks;
    }
    const std::int64_t length = select_block == 0 ? std::max<std::int64_t>(1, elements) : select_block;
    for (std::int64_t begin = 0; begin < elements; begin += length) {
      blocks.push_back({begin, std::min(begin + length, elements)});
    }
    return blocks;
  }
};

inline SparseMean make_sparse_mean(OptionReader& read, double density) {
  return {.density = read.number("density", density),
          .select_block = read.count("select_block", 4096),
          .two_levels = read.count("value_bits", 32) == 2,
          .by_owner = read.is("exchange", "owner")};
}

}  // namespace kadam::reference
