// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/local_moments_adam.hpp>
#include <kadam/collectives/background_mean.hpp>

namespace kadam {

/// Adam with divisible communication: a small blocking foreground exchange, and a dense background one whose
/// result is applied a fixed number of steps later.
///
///   t <= warmup:  adam
///   then:         m, v and the mean of v as in locally_accumulated_adam
///                 r <- r + gamma (m/c1) / (sqrt(v/c2) + eps)
///   foreground:   the largest |r| are sent, r <- 0 there
///                 x <- (1 - gamma lambda) x - (1/n) sum of what was sent
///   background:   when (t - warmup) mod tau = 0, tau = background_steps:
///                 x <- x - b';  b <- r;  r <- 0;  b' <- dense mean of b, which then travels for tau steps
///   this rank works at x - s (r + b), s = step_ahead; with s = 0 it is unstable from tau >= 5
///
/// Every update is delivered exactly once, by one of the two channels, at most 2 tau steps later. All ranks
/// apply b' exactly tau steps after its exchange was started, even if it arrives earlier. `progress` says
/// what moves the exchange on in between: a thread, calls of progress() by the program, or nothing; the
/// parameters are the same to the last bit. background_steps = "auto": the smallest tau for which tau steps
/// take 1.2 times as long as an exchange, on every rank. It is measured when the second exchange is about to
/// start, 4 steps after the first, and then fixed.
///
/// Memory: 24 d state bytes; the workspace of DenseMean, SparseMean and BackgroundMean. Wire: SparseMean's
/// bytes in the foreground; in the background a dense mean every tau steps. Worked number: d = 10^6, n = 4,
/// density 1/1024, tau = 4: 17.6 kB per step, and 6 MB every 4 steps.
class DivisibleAdam final : public LocalMomentsAdam {
 public:
  struct Options : LocalMomentsAdam::Options {
    Options() {
      density = 1.0 / 1024.0;
      step_ahead = 1.0;
    }
    StepsOrAuto background_steps{4, false};

    void describe(OptionFields& fields);
    /// tau; with "auto" 4, until tau is chosen.
    [[nodiscard]] std::int64_t first_background_steps() const {
      return background_steps.automatic ? 4 : background_steps.steps;
    }
  };

  DivisibleAdam(const Options& options, Workplace& at);
  [[nodiscard]] static AlgorithmCost cost(const Options& options, const Problem& problem);

  void advance(Step& step) override;
  void describe_state(const ExecutionSpace& exec, StateFields& fields) override;
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                   const Restoration& restoration) override;
  void deliver_all(const ExecutionSpace& exec, const Vector<float>& parameters) override;
  void consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                 const Vector<float>& out) override;
  void poll_background() override;

 protected:
  [[nodiscard]] BackgroundSeconds background_seconds() const override;

 private:
  /// Applies b', makes the residual the next b, and starts its mean. Collective.
  void exchange_in_background(const ExecutionSpace& exec);
  /// Chooses tau from the first exchange and the steps since it started; waited_seconds: how long they waited
  /// for its end. Collective.
  void choose_background_steps(double waited_seconds);
  /// Puts tau into the traffic plan.
  void plan_background();
  /// b', the mean of the last exchange in the background. Waits for it if it has not arrived.
  [[nodiscard]] Vector<const float> arriving(const ExecutionSpace& exec);
  [[nodiscard]] bool starts_background(std::int64_t step) const {
    return (step - background_from_) % background_steps_ == 0;
  }

  Options options_;
  Vector<float> x_;                    ///< the common parameters
  Vector<float> residual_;             ///< r: not yet on its way
  Vector<float> in_flight_;            ///< b: on its way in the background
  BackgroundMean background_;          ///< of b; b' is applied at the next background step
  std::int64_t background_steps_ = 4;  ///< tau
  std::int64_t background_from_ = 0;   ///< the step after which tau is counted
  bool chooses_background_steps_ = false;
  Kokkos::Timer since_start_;  ///< since the last background exchange was started
};

}  // namespace kadam
