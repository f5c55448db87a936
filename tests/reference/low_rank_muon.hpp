// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/low_rank_mean.hpp>
#include <reference/muon.hpp>
#include <reference/simulation.hpp>

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace kadam::reference {

/// Muon on a low-rank mean of the gradients.
struct LowRankMuon {
  MuonMoments moments;
  LowRankMean mean;
  std::int64_t t = 0;

  /// Factor that clips by the root mean square of the ranks' norms.
  [[nodiscard]] double clip_factor(const Ranks& gradients) const {
    const double clip = moments.hyper.clip_norm;
    double mean_square = 0.0;
    for (const auto& g : gradients) mean_square += squared_norm(g) / static_cast<double>(gradients.size());
    return clip > 0.0 && std::sqrt(mean_square) > clip ? clip / std::sqrt(mean_square) : 1.0;
  }

  void step(std::vector<float>& x, const Ranks& of_ranks) {
    ++t;
    const Hyper& hyper = moments.hyper;
    std::vector<float> g = dense_mean(own_gradients(hyper, of_ranks));
    if (of_ranks.size() > 1) mean(of_ranks, clip_factor(of_ranks), g);
    const std::vector<float> u = moments.step(g, t);
    const std::vector<Rates> rates = hyper.rates(t, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = decayed(rates[i], x[i]) - u[i];
  }
};

inline constexpr Reference low_rank_muon_reference = {
    "low_rank_muon", [](OptionReader& read, const World& world) {
      const Hyper hyper = read.hyper();
      std::vector<MatrixPlace> places;
      for (std::size_t k = 0; k < hyper.tensors.size(); ++k) {
        const Tensor& tensor = hyper.tensors[k];
        if (tensor.is_matrix() && !tensor.dense)
          places.push_back({tensor.begin, tensor.rows(), tensor.columns(), static_cast<std::int64_t>(k)});
      }
      const auto rank = read.count("rank", 2);
      const auto bits = static_cast<int>(read.count("factor_bits", 8));
      const auto seed = static_cast<std::uint64_t>(read.count("seed", 1));
      LowRankMean mean(std::move(places), rank, bits, seed, world.ranks, world.elements);
      const Matrices matrices{read.word("matrices", "all")};
      return simulation_of(LowRankMuon{MuonMoments(hyper, matrices, world.elements), std::move(mean)});
    }};

}  // namespace kadam::reference
