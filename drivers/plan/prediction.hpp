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

/// How much of exchanges can run while a rank computes.
struct Overlap {
  double backward = 0.0;    ///< fraction of compute_seconds that can hide the exchange of a gradient
  double background = 1.0;  ///< fraction of compute and kernels that can hide a background exchange
  /// Length of the pieces that messages are cut into: some travel while others are encoded or decoded. 0:
  /// whole messages, nothing overlaps. automatic_piece_bytes() returns Kadam's default.
  std::size_t piece_bytes = 0;
};

/// flat: all ranks exchange with all. two: the ranks of a node exchange densely first, then nodes with nodes.
/// best: the faster of the two.
enum class Levels : std::uint8_t { best, flat, two };

/// All inputs of a prediction but the algorithm and the number of ranks.
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

/// Seconds of a step, mean over steps.
struct StepSeconds {
  double compute = 0.0;
  double kernels = 0.0;   ///< of the optimizer
  double exchange = 0.0;  ///< on the network, hidden or not
  double exposed = 0.0;   ///< part of `exchange` that the step waits for
  double messages = 0.0;  ///< part of `exchange` that the number of messages causes: message_seconds()
  [[nodiscard]] double total() const { return compute + kernels + exposed; }
};

/// Prediction for one algorithm on one number of ranks.
struct Prediction {
  std::string algorithm;
  int ranks = 1;
  Levels levels = Levels::flat;       ///< those that were chosen
  std::int64_t background_steps = 0;  ///< of divisible_adam; 0 for all others
  StepSeconds step;                   ///< over the whole run
  StepSeconds settled;                ///< after the warm-up
  double bytes = 0.0;                 ///< sent by a rank to others, per step over the whole run
  double settled_bytes = 0.0;         ///< the same after the warm-up
  MemoryUse memory;                   ///< per rank, beside parameters and gradient
  OptionMap options;  ///< the options given, with the number that background_steps = "auto" became
};

/// Seconds of a step of one phase. K: seconds of its kernels; X: of an exchange.
///
///   X in P pieces                K and X together take (K + X)/P + (P - 1)/P max(K, X)
///   X of a gradient              exposed is smaller by backward * compute as well
///   background, every tau steps  exposed is max(0, X/tau - background (compute + K))
///
/// If the result of a background exchange is wanted k steps later, background k/tau replaces background.
/// P is the number of pieces of the longest message. The cost of cutting is in a rate measured with pieces. A
/// step in which ranks agree (StepPhase::agrees) also exchanges 16 B of each: the norm of its gradient, and
/// raised bits. In two levels what an exchange sends inside the node (Traffic::node) takes its time there,
/// and what has one level (Transfer::has_one_level) goes as in one. Worked number: K = 2 ms, X = 4 ms, P =
/// 4: 1.5 + 3 = 4.5 ms, of which 2.5 ms are exposed (the agreement left out).
[[nodiscard]] StepSeconds step_seconds(const StepPhase& phase, const Scenario& scenario, int ranks,
                                       bool two_levels);

/// Predicts an optimizer with its options (make_optimizer()) on n ranks.
///
/// background_steps = "auto" becomes the smallest tau with tau step >= 1.2 exchange, as divisible_adam
/// chooses. Errors: std::invalid_argument, of Scenario::validate() and optimizer_cost(); for a warm-up that
/// is "auto", or that leaves nothing of the run.
[[nodiscard]] Prediction predict(const std::string& algorithm, const OptionMap& options,
                                 const Scenario& scenario, int ranks);

/// Compression pays if a dense step waits this many times longer than a compressed one spends on compression.
inline constexpr double margin = 1.5;

/// One of the predictions that judge() compares, with its name: an algorithm may be there with several
/// options.
struct Candidate {
  std::string name;
  bool dense = false;  ///< a baseline: exchanges whole vectors in every step
  Prediction prediction;
  std::string suits = {};  ///< OptimizerTraits::suits
  bool fits = true;        ///< it fits into the memory of a rank
};

/// A candidate that pays, and that is the first one to try under the condition `suits`.
struct Lead {
  std::string suits;
  std::string name;
  double speedup = 1.0;  ///< as Verdict::speedup
};

/// Recommendation of judge().
struct Verdict {
  std::string best;         ///< name of a candidate
  bool compresses = false;  ///< `best` is not a dense candidate
  double speedup = 1.0;     ///< of `best` over the fastest dense candidate, in the whole run
  bool alone_fits = false;  ///< no dense candidate fits into the memory of a rank
  std::string reason;       ///< one sentence
  std::vector<Lead> leads;  ///< in the order of the candidates
};

/// Recommends a candidate. Compression pays against the fastest dense candidate if the step is shorter and
///
///   exposed seconds of dense > 1.5 (kernels + exposed seconds of the compressed one)
///
/// over the whole run; never where all ranks share the memory of one node. All candidates are predictions
/// for the same ranks. A candidate that does not fit is not recommended, and is not the dense one to beat. If
/// no dense one fits, the fastest candidate that fits is best, on one node too. If none fits at all, they are
/// judged as if all did. Errors: std::invalid_argument without a dense candidate.
[[nodiscard]] Verdict judge(std::span<const Candidate> candidates, const Network& network);

}  // namespace kadam::plan
