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

/// Every rank takes H local steps from common parameters; then the ranks exchange the sums of their steps,
/// compressed, and all go on from the mean. The one algorithm behind local_adam and local_muon, which differ
/// in their options alone; DiLoCo (Douillard et al. 2023), MuLoCo and SparseLoCo are settings of it.
///
///   every step:   U += gamma u,  u by MuonDirection of the own gradient;  Gamma += gamma
///                 working parameters of a rank:  (1 - lambda Gamma) x - U - rho eta e
///   t mod H = 0:  r = mean of U by the code;  o <- mu o + r
///                 x <- (1 - lambda Gamma) x - eta (r + mu o)          mu = 0: eta r
///                 U <- 0;  Gamma <- 0
///
/// H = sync_interval, rho = step_ahead, eta = outer_lr, mu = outer_momentum, beta_e = residual_decay; e: this
/// rank's errors of the code (RoundMean).
///
/// Moments stay each rank's own, over rounds too, and t is not reset at a round. If Gamma = 0 at a round,
/// nothing is exchanged but the agreement, and x and the errors stay. Law (lambda = 0, mu = 0, eta = 1,
/// beta_e = 1): x0 - x + what is owed = the sum over rounds of the mean of U. Learning rates: a rank's own v
/// is up to n times as large as that of the mean gradient; on 4 ranks local_adam needs 0.5 to 1 times,
/// local_muon 1 to 2 times dense Adam's.
///
/// Clipping: by the norm of the rank's own gradient; with nonfinite = "each_step" by the root mean square of
/// the ranks' norms. Tensors kept dense exchange the exact mean of their U at every round.
///
/// NaN or Inf: with nonfinite = "round" each rank checks its gradient alone, so that a step between rounds
/// sends no byte. A rank with a NaN or Inf skips its own step (Gamma grows all the same); at the round all
/// ranks hear the number of skipped steps (StepResult::skipped_alone). Raised bits, and a hash of the
/// settings of each step of the round, travel at rounds, too. If the U of some rank is not finite at a round,
/// no rank applies the round: U and Gamma start again from 0, errors stay, and it counts as one skipped step.
/// With "each_step" ranks agree before every step, as the other optimizers do.
///
/// variance = "factored": tensors that are not spectral have a FactoredVariance, whose factors are replaced
/// by their means over ranks at every round.
///
/// round_delay = tau > 0 (Streaming DiLoCo, Douillard et al. 2025): a round travels while the next steps
/// compute, and is applied tau steps later, on all ranks at the same step. Until then a rank keeps S, the
/// steps that it has sent, among its own steps:
///
///   t mod H = 0:    S <- U;  Gamma_S <- Gamma;  U <- 0;  Gamma <- 0;  the mean r of S sets out
///   in between:     working parameters:  (1 - lambda (Gamma_S + Gamma)) x - S - U
///   tau later:      o <- mu o + r;  x <- (1 - lambda Gamma_S) x - eta (r + mu o);  S is dropped
///
/// Ranks then differ after every step, by S and U: the steps whose mean they have not applied yet. flush()
/// and write_consensus() wait for the round on its way, and give parameters that are equal on all ranks. No
/// rank waits for a round that takes no longer than tau steps. Messages move on in step() and in progress().
///
/// Memory: x, U, moments and, where they exist, errors and o: 12 d (a factored variance, code none) to 24 d +
/// 4 d/n state bytes; with a delay S and r, 8 d more. Wire: the code's bytes once in H steps: for sign (1/H)
/// 2 (n - 1)/n (d/8 + 4 d/B) per step, with scale blocks of B elements; topk (1/H) (n - 1) (8 + ceil(14 k/8))
/// for each block, of which k entries are sent. Worked number: d = 2^20, n = 4, sign, B = 4096, H = 32:
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
    bool agrees_each_step = false;  ///< nonfinite = "each_step"
    Variance variance = Variance::own;
    /// The option `matrices` of local_muon, which names the spectral matrices. Empty: there are none, and the
    /// algorithm does not have the option.
    std::string matrices;
    std::string preset = "none";

    /// A named set of defaults that turns this algorithm into a published one.
    struct Preset {
      std::string name;
      void (*choose)(Options&);
    };
    std::vector<Preset> presets;  ///< those that the optimizer has, beside "none"

    /// Takes the defaults of the preset that `values` names. A name that does not exist changes nothing here;
    /// the option refuses it.
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
  /// Tells the other ranks how many steps this one has skipped alone, its raised bits and the hash of its
  /// settings. Returns whether U is finite on all ranks. Errors: std::invalid_argument, on all ranks, if they
  /// have different settings. Collective.
  [[nodiscard]] bool agree(Step& step);
  [[noreturn]] void refuse_different_settings(const Step& step) const;
  /// Exchanges U, and takes the outer step with its mean. Collective.
  void round(const Step& step);
  /// Starts the exchange of U, which becomes S; arrive() applies its mean. Collective.
  void depart(const Step& step);
  [[nodiscard]] bool is_in_flight() const { return arrives_at_ > 0; }
  /// Waits for the mean of S, and takes the outer step with it; writes `parameters` and sets S to 0.
  /// Collective.
  void arrive(const ExecutionSpace& exec, const Vector<float>& parameters);
  /// gamma_sum: the Gamma of the round.
  [[nodiscard]] OuterFactorsOf outer_factors(double gamma_sum) const;
  /// The outer step, which also writes x to `parameters` and sets `steps` to 0.
  [[nodiscard]] RoundMean::Outer outer_step(double gamma_sum, const Vector<float>& steps,
                                            const Vector<float>& parameters) const;
  /// out <- the parameters that this rank works with between rounds.
  void write_working(const ExecutionSpace& exec, const Vector<float>& out) const;
  /// The rule of (1 - lambda Gamma) x, Gamma = gamma_sum.
  [[nodiscard]] BySegment<MemorySpace, DecayedParametersOf> decayed(double gamma_sum) const {
    return {segments(), {gamma_sum, 1.0F, ahead()}};
  }
  /// rho eta
  [[nodiscard]] float ahead() const { return static_cast<float>(options_.step_ahead * options_.outer_lr); }

  Options options_;
  MuonDirection direction_;
  RoundMean mean_;
  Vector<float> x_;  ///< after the last round, the same on all ranks
  Vector<float> u_;  ///< U: own steps since then
  Vector<float> o_;  ///< outer momentum
  double gamma_sum_ = 0.0;
  Vector<float> sent_;                   ///< S: own steps in the round that travels
  double gamma_sent_ = 0.0;              ///< Gamma_S
  std::int64_t arrives_at_ = 0;          ///< step in which that round is applied; 0: none travels
  std::int64_t skipped_alone_ = 0;       ///< steps that this rank skipped and has not told yet
  std::uint32_t settings_of_round_ = 0;  ///< Settings::fingerprint_after() of the steps of this round
};

}  // namespace kadam
