// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/make_optimizer.hpp>
#include <plan/machine.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kadam::plan {

/// What runs at the same time as something else.
struct Overlap {
  double backward = 0.0;    ///< part of the compute time beside which a gradient's exchange may run
  double background = 1.0;  ///< part of compute and kernels beside which the background's may run
  /// Length of the pieces that messages are cut into, of which some travel while others are encoded or
  /// decoded; 0: whole messages, nothing overlaps. automatic_piece_bytes() has Kadam's own.
  std::size_t piece_bytes = 0;
};

/// Whether all ranks exchange with all, or those of a node densely first: the better one, unless told.
enum class Levels : std::uint8_t { best, flat, two };

/// Everything that a prediction follows from, but the algorithm and the number of ranks.
struct Scenario {
  std::int64_t elements = 0;     ///< d
  std::int64_t steps = 100000;   ///< of the whole run
  double compute_seconds = 0.0;  ///< forward and backward pass of a step
  Network network;
  KernelCosts kernels;
  Overlap overlap;
  Levels levels = Levels::best;

  /// Errors: std::invalid_argument that says which figure is impossible.
  void validate() const;
};

/// Seconds of a step, in the mean.
struct StepSeconds {
  double compute = 0.0;
  double kernels = 0.0;   ///< of the optimizer
  double exchange = 0.0;  ///< on the network, hidden or not
  double exposed = 0.0;   ///< of this, what the step waits for
  double messages = 0.0;  ///< of the exchange, what the number of its messages takes: message_seconds()
  [[nodiscard]] double total() const { return compute + kernels + exposed; }
};

/// What is predicted of one algorithm on so many ranks.
struct Prediction {
  std::string algorithm;
  int ranks = 1;
  Levels levels = Levels::flat;       ///< those that were chosen
  std::int64_t background_steps = 0;  ///< of divisible_adam; 0 for all others
  StepSeconds step;                   ///< over the whole run
  StepSeconds settled;                ///< after the warm-up
  double bytes = 0.0;                 ///< sent by a rank to others, per step over the whole run
  double settled_bytes = 0.0;
  MemoryUse memory;   ///< per rank, beside parameters and gradient
  OptionMap options;  ///< that it was predicted with: those given, and background_steps where it is "auto"
};

/// A step of a phase.
///
///   exchange X in P pieces       K kernels and X take (K + X)/P + (P - 1)/P max(K, X)
///   of a gradient                exposed less by backward compute as well
///   background, every tau steps  exposed max(0, X/tau - background (compute + K)); background k/tau if the
///                                result is wanted k steps later
///
/// P is that of the longest message. What cutting costs is in a rate that was measured with pieces. A step
/// in which ranks agree (StepPhase::agrees) also exchanges 16 B of each: the norm of its gradient, and raised
/// bits. In two levels what an exchange sends inside the node (Traffic::node) takes its time there, and what
/// has one level (Transfer::has_one_level) goes as in one. Worked number: K = 2 ms, X = 4 ms, P
/// = 4: 1.5 + 3 = 4.5 ms, of which 2.5 ms are exposed (the agreement left out).
[[nodiscard]] StepSeconds step_seconds(const StepPhase& phase, const Scenario& scenario, int ranks,
                                       bool two_levels);

/// Predicts an optimizer with its options (make_optimizer()) on n ranks.
///
/// background_steps = "auto" becomes the smallest tau with tau step >= 1.2 exchange, as divisible_adam
/// chooses. Errors: std::invalid_argument, of Scenario::validate() and optimizer_cost(); for a warm-up that
/// is "auto", or that leaves nothing of the run.
[[nodiscard]] Prediction predict(const std::string& algorithm, const OptionMap& options,
                                 const Scenario& scenario, int ranks);

/// How much more a dense step must wait than a compressed one spends on compression before it pays.
inline constexpr double margin = 1.5;

/// A prediction of many, and what to call it: the same algorithm may be there with several options.
struct Candidate {
  std::string name;
  bool dense = false;  ///< a baseline: exchanges everything in every step
  Prediction prediction;
  std::string suits = {};  ///< as OptimizerTraits
  bool fits = true;        ///< into the memory of a rank
};

/// A candidate that pays and is to be tried first under a condition.
struct Lead {
  std::string suits;
  std::string name;
  double speedup = 1.0;  ///< as that of the verdict
};

/// What to use.
struct Verdict {
  std::string best;         ///< name of a candidate
  bool compresses = false;  ///< it is no dense one
  double speedup = 1.0;     ///< over the fastest dense one, over the whole run
  bool alone_fits = false;  ///< no dense one fits into the memory of a rank
  std::string reason;       ///< one sentence
  std::vector<Lead> leads;  ///< in the order of the candidates
};

/// Whether compression pays against the fastest dense candidate: it does if the step is shorter and
///
///   exposed seconds of dense > 1.5 (kernels + exposed seconds of the compressed one)
///
/// over the whole run; never where all ranks share the memory of one node. All candidates are predictions
/// for the same ranks. One that does not fit is neither recommended nor the dense one that others have to
/// beat; if no dense one fits, the fastest that does is best, on one node too, and if none does at all they
/// are judged as if all did. Errors: std::invalid_argument without a dense candidate.
[[nodiscard]] Verdict judge(std::span<const Candidate> candidates, const Network& network);

}  // namespace kadam::plan
