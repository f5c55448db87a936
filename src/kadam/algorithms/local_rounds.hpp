// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/muon_direction.hpp>
#include <kadam/algorithms/round_mean.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kadam {

/// Every rank takes H steps of its own from common parameters; then the sum of its steps crosses the wire,
/// compressed, and all go on from the mean. The one algorithm behind local_adam and local_muon, which differ
/// in their options alone; DiLoCo (Douillard et al. 2023), MuLoCo, SparseLoCo and Qsparse-local-SGD are
/// settings of it.
///
///   every step:   U += gamma u,  u by MuonDirection of the own gradient;  Gamma += gamma
///                 working parameters of a rank:  (1 - lambda Gamma) x - U - rho eta we
///   t mod H = 0:  r = mean of U by the code;  o <- mu o + r
///                 x <- (1 - lambda Gamma) x - eta (r + mu o)          mu = 0: eta r
///                 U <- 0;  Gamma <- 0
///
/// Moments stay each rank's own, over rounds too; t runs on. Where Gamma = 0 at a round nothing is sent, and
/// x and the errors stay. Law (lambda = 0, mu = 0, eta = 1, beta_e = 1): x0 - x + what is owed = the sum over
/// rounds of the mean of U. Learning rates: a rank's own v is larger than that of the mean gradient, by up to
/// n; on 4 ranks local_adam wants 0.5 to 1 times, local_muon 1 to 2 times dense Adam's.
///
/// Clipping: by the norm of the rank's own gradient; with nonfinite = "each_step" by the root mean square of
/// the ranks' norms. Tensors kept dense exchange the exact mean of their U at every round.
///
/// NaN or Inf: with nonfinite = "round" ranks look at their gradients each for itself, so that a step between
/// rounds sends not a byte. A rank that sees one skips its own step (Gamma grows all the same), and all hear
/// at the round how many there were: StepResult::skipped_alone. Bits that ranks raise, and a hash of what
/// they have set in each step of the round, travel at rounds, too. A U that is not finite at a round: no rank
/// applies it; U and Gamma start anew, errors stay, counted once. With "each_step" ranks agree before every
/// step, as the other optimizers do.
///
/// variance = "factored": FactoredVariance of what is not spectral, whose factors become those of all ranks
/// at every round.
///
/// round_delay = tau > 0 (Streaming DiLoCo, Douillard et al. 2025): a round travels while the next steps
/// compute, and is applied tau steps later, on all ranks at the same step. What has been sent, S, stays among
/// a rank's own steps until then:
///
///   t mod H = 0:    S <- U;  Gamma_S <- Gamma;  U <- 0;  Gamma <- 0;  the mean r of S sets out
///   in between:     working parameters:  (1 - lambda (Gamma_S + Gamma)) x - S - U
///   tau later:      o <- mu o + r;  x <- (1 - lambda Gamma_S) x - eta (r + mu o);  S is dropped
///
/// Ranks then differ after every step, by what they have not sent yet: flush() and consensus(), which wait
/// for the round on its way, give parameters that all have in common. Nobody waits for a round that takes no
/// longer than tau steps. Messages move on in step() and in progress().
///
/// Memory: x, U, moments and, where they exist, errors and o: 16 d to 24 d state bytes; with a delay S and r,
/// 8 d more. Wire: the code's bytes once in H steps: for sign (1/H) 2 (n - 1)/n (d/8 + 4 d/B) per step; topk
/// (1/H) (n - 1) (8 + ceil(14 k/8)) for each block. Worked number: d = 2^20, n = 4, sign, B = 4096, H = 32:
/// 6192 bytes per step, 1016 times fewer than the dense mean.
class LocalRounds final : public Algorithm {
 public:
  struct Options {
    CommonOptions common;
    std::int64_t sync_interval = 32;
    RoundMean::Options mean;
    double outer_lr = 1.0;
    double outer_momentum = 0.0;
    double step_ahead = 0.0;
    std::int64_t round_delay = 0;
    bool agrees_each_step = false;
    Variance variance = Variance::own;
    std::string matrices;  ///< empty: none, and no such option
    std::string preset = "none";

    /// Defaults that make it a published algorithm.
    struct Preset {
      std::string name;
      void (*choose)(Options&);
    };
    std::vector<Preset> presets;  ///< those that the algorithm has, beside none

    /// What a preset changes; its name may be one that does not exist.
    void choose_preset(const OptionMap& values);
    void describe(OptionFields& fields);
    void validate(std::string_view owner) const;
    [[nodiscard]] SpectralTensors tensors(const TensorLayout& layout, const ResolvedGroups& groups) const;
  };
  struct LocalAdam : Options {
    LocalAdam();
  };
  struct LocalMuon : Options {
    LocalMuon();
  };

  LocalRounds(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void advance(Step& step) override;
  [[nodiscard]] bool agrees_in_rounds() const override { return !options_.agrees_each_step; }
  void poll_background() override { mean_.poll(); }
  [[nodiscard]] bool may_set_groups() const override { return gamma_sum_ == 0.0; }
  void groups_were_set() override { direction_.set_groups(groups()); }
  void deliver_all(const ExecutionSpace& exec, const Vector<float>& parameters) override;
  void consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                 const Vector<float>& out) override;
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                   const Restoration& restoration) override;
  void add_health(const ExecutionSpace& exec, Health& health) override;

 private:
  void local_step(Step& step);
  /// Ranks tell each other what each has seen alone. Returns whether U is finite everywhere.
  [[nodiscard]] bool agree(Step& step);
  [[noreturn]] void refuse_different_settings(const Step& step) const;
  /// Sends the sum of own steps and goes on from what arrives; the same that arrives later.
  void round(const Step& step);
  void depart(const Step& step);
  [[nodiscard]] bool is_in_flight() const { return arrives_at_ > 0; }
  void arrive(const ExecutionSpace& exec, const Vector<float>& parameters);
  [[nodiscard]] OuterStep<MemorySpace> outer_step(const Vector<float>& steps,
                                                  const Vector<float>& parameters) const;
  void write_working(const ExecutionSpace& exec, const Vector<float>& out) const;
  [[nodiscard]] BySegment<MemorySpace, DecayedParametersOf> decayed(double gamma_sum) const {
    return {segments(), {gamma_sum, 1.0F, ahead()}};
  }
  [[nodiscard]] float ahead() const { return static_cast<float>(options_.step_ahead * options_.outer_lr); }

  Options options_;
  MuonDirection direction_;
  RoundMean mean_;
  Vector<float> x_;  ///< of the last round, the same on all ranks
  Vector<float> u_;  ///< own steps since
  Vector<float> o_;  ///< outer momentum
  double gamma_sum_ = 0.0;
  Vector<float> sent_;                   ///< S: own steps of a round that travels
  double gamma_sent_ = 0.0;              ///< and their Gamma
  std::int64_t arrives_at_ = 0;          ///< the step after which it is applied; 0: none travels
  std::int64_t skipped_alone_ = 0;       ///< by this rank, and not told yet
  std::uint32_t settings_of_round_ = 0;  ///< Settings::fingerprint_after() each of its steps
};

}  // namespace kadam
