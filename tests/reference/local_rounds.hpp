// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <reference/block_code.hpp>
#include <reference/muon.hpp>
#include <reference/simulation.hpp>
#include <reference/sparse_mean.hpp>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace kadam::reference {

/// local_adam and local_muon: each rank takes steps alone; in a round all ranks go on from the mean.
struct LocalRounds {
  /// The options of rounds.
  struct Rules {
    std::int64_t sync_interval = 32;
    std::string code = "sign";
    double residual_decay = 1.0;
    double outer_lr = 1.0;
    double outer_momentum = 0.0;
    double step_ahead = 0.0;
    std::int64_t round_delay = 0;
    bool agrees_each_step = false;  ///< ranks agree on gradients before every step, and clip by a common norm
  };

  Hyper hyper;
  Rules rules;
  std::vector<MuonMoments> moments;  ///< of each rank
  CompressedMean mean;
  SparseMean largest;         ///< in place of `mean` if the code is topk
  Ranks residual;             ///< of topk
  Ranks u;                    ///< sum of each rank's steps since the last round
  std::vector<float> x = {};  ///< parameters after the last round
  std::vector<float> o = {};  ///< outer momentum
  double gamma_sum = 0.0;     ///< sum of gamma since the last round
  std::int64_t t = 0;
  // A delayed round that travels.
  Ranks sent = {};                   ///< u that was sent
  std::vector<float> arriving = {};  ///< its mean
  double gamma_sent = 0.0;           ///< its sum of gamma
  std::int64_t arrives_at = 0;       ///< step at which it is applied; 0: none travels

  LocalRounds(const Hyper& h, Rules r, const Matrices& matrices, const Code& code, const SparseMean& sparse,
              const World& world)
      : hyper(h),
        rules(std::move(r)),
        moments(static_cast<std::size_t>(world.ranks), MuonMoments(h, matrices, world.elements)),
        mean(code, world.ranks, world.elements),
        largest(sparse),
        residual(zeros(world.ranks, world.elements)),
        u(residual) {}

  void step(Ranks& working, const Ranks& gradients) {
    if (++t == 1) {
      x = working[0];
      o.assign(x.size(), 0.0F);
    }
    mean.undecided.clear();
    largest.undecided.clear();
    gamma_sum += hyper.learning_rate(t);
    const Ranks own = rules.agrees_each_step ? own_gradients(hyper, gradients) : clipped_alone(gradients);
    for (std::size_t r = 0; r < u.size(); ++r) {
      const std::vector<float> steps = moments[r].step(own[r], t);
      for (std::size_t i = 0; i < x.size(); ++i) u[r][i] += steps[i];
    }
    if (t == arrives_at) arrive();
    if (t % rules.sync_interval != 0) {
      look_ahead(working);
      return;
    }
    if (gamma_sum > 0.0 && rules.round_delay > 0) {
      depart();
      look_ahead(working);
      return;
    }
    if (gamma_sum > 0.0) {
      take(exchanged(), gamma_sum);
      average_variance();
    }
    forget(working);
  }

  /// x <- (1 - lambda Gamma) x - eta (mean of all that is owed), without the outer momentum.
  void flush(Ranks& working) {
    if (arrives_at > 0) arrive();
    Ranks owed = u;
    for (std::size_t r = 0; r < u.size(); ++r) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        owed[r][i] += residual[r][i] + worker_error(r)[i] + mean.server_error[i];
      }
    }
    const std::vector<float> all = dense_mean(owed);
    const std::vector<float> decay = decays(gamma_sum);
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = decay[i] * x[i] - static_cast<float>(rules.outer_lr) * all[i];
    }
    residual = zeros(static_cast<int>(u.size()), static_cast<std::int64_t>(x.size()));
    mean.worker_error =
        zeros(static_cast<int>(mean.worker_error.size()), static_cast<std::int64_t>(x.size()));
    mean.server_error.assign(x.size(), 0.0F);
    forget(working);
  }

  [[nodiscard]] Undecided undecided() const {
    Undecided all = mean.undecided;
    all.insert(all.end(), largest.undecided.begin(), largest.undecided.end());
    return all;
  }

 private:
  [[nodiscard]] Ranks clipped_alone(Ranks gradients) const {
    for (auto& g : gradients) g = clipped(hyper, g, std::sqrt(squared_norm(g)));
    return gradients;
  }
  /// Worker error of the rank's node.
  [[nodiscard]] const std::vector<float>& worker_error(std::size_t rank) const {
    return mean.worker_error[rank / static_cast<std::size_t>(mean.code.ranks_per_node)];
  }
  /// 1 - lambda Gamma of each element.
  [[nodiscard]] std::vector<float> decays(double gammas) const {
    std::vector<float> all;
    for (const Rates& rates : hyper.rates(1, x.size())) {
      all.push_back(static_cast<float>(1.0 - gammas * rates.lr_scale * rates.weight_decay));
    }
    return all;
  }

  /// working <- the points of ranks between rounds: own steps, and step_ahead times what is owed, ahead of x.
  void look_ahead(Ranks& working) const {
    const auto ahead = static_cast<float>(rules.step_ahead * rules.outer_lr);
    const std::vector<float> decay = decays(gamma_sum + gamma_sent);
    for (std::size_t r = 0; r < working.size(); ++r) {
      for (std::size_t i = 0; i < x.size(); ++i) {
        working[r][i] = decay[i] * x[i] - u[r][i] - ahead * (residual[r][i] + worker_error(r)[i]);
        if (arrives_at > 0) working[r][i] -= sent[r][i];
      }
    }
  }

  /// Begins a delayed round: its mean is applied round_delay steps later, and until then each rank's own
  /// steps count.
  void depart() {
    sent = u;
    arriving = exchanged();
    gamma_sent = gamma_sum;
    arrives_at = t + rules.round_delay;
    average_variance();
    for (auto& rank : u) rank.assign(x.size(), 0.0F);
    gamma_sum = 0.0;
  }
  void arrive() {
    take(arriving, gamma_sent);
    gamma_sent = 0.0;
    arrives_at = 0;
  }

  /// The mean of u by rules.code; keeps errors or residuals.
  std::vector<float> exchanged() {
    const std::vector<Rates> rates = hyper.rates(1, x.size());
    const std::vector<bool> dense = hyper.kept_dense(x.size(), u.size());
    const auto decay_errors = static_cast<float>(rules.residual_decay);
    if (rules.code == "none") return dense_mean(u);
    if (rules.code == "topk") {
      Ranks h = u;
      for (std::size_t r = 0; r < u.size(); ++r) {
        for (std::size_t i = 0; i < x.size(); ++i) {
          h[r][i] += residual[r][i];
          residual[r][i] = dense[i] ? 0.0F : h[r][i];
        }
      }
      const std::vector<float> said = with_exact_mean(largest(residual), h, dense);
      for (auto& rank : residual) {
        for (float& value : rank) value *= decay_errors;
      }
      return said;
    }
    std::vector<bool> active(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) active[i] = !dense[i] && rates[i].lr_scale != 0.0;
    const std::vector<float> said = with_exact_mean(mean(u, active), u, dense);
    for (auto& rank : mean.worker_error) {
      for (float& value : rank) value *= decay_errors;
    }
    for (float& value : mean.server_error) value *= decay_errors;
    return said;
  }

  void average_variance() {
    std::vector<FactoredVariance> of_ranks;
    for (const MuonMoments& rank : moments) {
      of_ranks.insert(of_ranks.end(), rank.factors.begin(), rank.factors.end());
    }
    if (of_ranks.empty()) return;
    FactoredVariance::average(of_ranks);
    for (std::size_t r = 0; r < moments.size(); ++r) moments[r].factors[0] = of_ranks[r];
  }

  /// Applies the mean r of a round to x, with outer momentum and weight decay. gammas: sum of gamma of the
  /// round.
  void take(const std::vector<float>& r, double gammas) {
    const auto mu = static_cast<float>(rules.outer_momentum);
    const std::vector<float> decay = decays(gammas);
    for (std::size_t i = 0; i < x.size(); ++i) {
      o[i] = mu * o[i] + r[i];
      x[i] = decay[i] * x[i] - static_cast<float>(rules.outer_lr) * (r[i] + mu * o[i]);
      if (mu == 0.0F) o[i] = 0.0F;
    }
  }

  /// Lets all ranks go on from x.
  void forget(Ranks& working) {
    for (auto& rank : u) rank.assign(x.size(), 0.0F);
    gamma_sum = 0.0;
    working.assign(working.size(), x);
  }
};

inline Simulation make_local_rounds(OptionReader& read, const World& world, const Matrices& matrices,
                                    const std::string& variance) {
  LocalRounds::Rules rules;
  rules.sync_interval = read.count("sync_interval", rules.sync_interval);
  rules.residual_decay = read.number("residual_decay", rules.residual_decay);
  rules.outer_lr = read.number("outer_lr", rules.outer_lr);
  rules.outer_momentum = read.number("outer_momentum", rules.outer_momentum);
  rules.step_ahead = read.number("step_ahead", rules.step_ahead);
  rules.round_delay = read.count("round_delay", rules.round_delay);
  rules.agrees_each_step = read.is("nonfinite", "each_step");
  const bool is_factored = read.word("variance", variance) == "factored";
  const double density = read.number("density", 1.0 / 64.0);
  Code code = read.code("sign", 4096);
  rules.code = code.name;
  // Directions of Muon differ more between implementations than those of Adam.
  if (!matrices.names.empty()) code.slack = 10.0F;
  const SparseMean largest{
      .density = density, .select_block = code.block, .two_levels = true, .slack = code.slack};
  LocalRounds rounds(read.hyper(), rules, matrices, code, largest, world);
  if (is_factored) {
    std::vector<Tensor> others;
    for (const Tensor& tensor : world.tensors) {
      if (!matrices.hold(tensor)) others.push_back(tensor);
    }
    for (MuonMoments& rank : rounds.moments) rank.factors.emplace_back(others);
  }
  return simulation_of(std::move(rounds));
}

inline constexpr Reference local_adam_reference = {"local_adam", [](OptionReader& read, const World& world) {
                                                     return make_local_rounds(read, world, Matrices{""},
                                                                              "factored");
                                                   }};
inline constexpr Reference local_muon_reference = {"local_muon", [](OptionReader& read, const World& world) {
                                                     const Matrices matrices{read.word("matrices", "all")};
                                                     return make_local_rounds(read, world, matrices, "own");
                                                   }};

}  // namespace kadam::reference
