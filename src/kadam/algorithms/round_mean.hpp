// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/algorithms/grouped_mean.hpp>
#include <kadam/collectives/background_mean.hpp>
#include <kadam/collectives/sparse_mean.hpp>
#include <kadam/kernels/local_rounds.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kadam {

/// The mean over ranks of what each has gathered in a round, by the code that an option names.
///
///   none            the exact mean, in float32
///   sign, ...       every code of AnyQuantiser: GroupedMean, two-sided error feedback
///   topk            h = U + e; the largest entries of every block of h with two levels (SparseMean), each
///                   rank's to all; e <- beta_e (h - what was said)
///
/// Errors are multiplied by beta_e = residual_decay after every exchange. Tensors kept dense have the exact
/// mean with every code. One rank: the identity, without error.
///
/// In the background: start(), and some steps later arriving(); between the two poll() moves messages on, and
/// nobody waits. Not with topk. Tensors kept dense have their mean, waited for, in start(). Memory: the
/// result, 4 d, and with code none what BackgroundMean holds.
class RoundMean {
 public:
  struct Options {
    std::string code = std::string(SignQuantiser::name);
    SignScale scale = SignScale::rms;
    std::int64_t block = 4096;
    double density = 1.0 / 64.0;
    double residual_decay = 1.0;

    void describe(OptionFields& fields);
    void validate(std::string_view owner) const;
    [[nodiscard]] bool is_dense() const { return code == "none"; }
    [[nodiscard]] bool is_sparse() const { return code == "topk"; }
    [[nodiscard]] CodecOptions codec() const { return {block, scale, code, {code}}; }
    [[nodiscard]] SparseOptions sparse() const {
      return {density, block, SparseExchange::own, SparseValues::two_levels};
    }
    /// Adds what an exchange costs to a phase, and what the mean holds to `use`.
    void add(const Problem& problem, StepPhase& phase, MemoryUse& use) const;
    /// The same in the background, from a phase to another that comes so many steps later.
    void add(const Problem& problem, StepPhase& start, StepPhase& arrival, std::int64_t steps,
             MemoryUse& use) const;
  };
  enum class Travels : std::uint8_t { at_once, in_background };

  RoundMean() = default;
  RoundMean(const ExecutionSpace& exec, const Options& options,
            const std::shared_ptr<Communicator>& communicator, std::int64_t elements,
            const ResolvedGroups& groups, Travels travels);

  using Outer = UpdateBySegment<MemorySpace, DecayedParametersOf, OuterStep<MemorySpace>>;
  /// Exchanges u and calls outer(i, mean of element i) for all elements that move. Collective.
  void exchange(const Step& step, const Vector<float>& u, const Outer& outer);

  /// Makes what start() needs: the first start() does it else. Collective.
  void prepare_start() {
    if (is_grouped_) grouped_.compressed().prepare_background();
  }
  /// The exchange of u in the background: u has to stay as it is until arriving(). Collective.
  void start(const Step& step, const Vector<float>& u);
  /// Moves on what start() has started, without waiting.
  void poll();
  /// The mean of the last start(), waited for if need be; later, and after a state was read into it, what it
  /// was. Elements that do not move: 0. Collective.
  [[nodiscard]] const Vector<float>& arriving(const ExecutionSpace& exec, Phases& phases);

  /// The exact mean of any vector; valid until the next exchange. Collective.
  [[nodiscard]] Vector<const float> exact(const ExecutionSpace& exec, Phases& phases,
                                          const Vector<const float>& values) {
    return dense_(exec, phases, values);
  }
  /// Adds to `target` of this rank so much that the mean over ranks grows by what is owed. Async.
  void add_owed(const ExecutionSpace& exec, const Vector<float>& target) const;
  void forget_owed(const ExecutionSpace& exec) const { scale_errors(exec, 0.0F); }
  /// Errors: std::invalid_argument in two levels, where errors are those of nodes.
  void require_own_errors() const;
  /// This rank's own, of the whole vector; empty where the code leaves none.
  [[nodiscard]] const Vector<float>& own_errors() const;
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const;
  /// Health::error_ratio of the codes with error feedback on both sides.
  [[nodiscard]] const GroupedMean* grouped() const { return is_grouped_ ? &grouped_ : nullptr; }

 private:
  void exchange_all(const Step& step, const Vector<float>& u, const Outer& outer);
  void exchange_grouped(const Step& step, const Vector<float>& u, const Outer& outer);
  void exchange_largest(const Step& step, const Vector<float>& u, const Outer& outer);
  void scale_errors(const ExecutionSpace& exec, float factor) const;

  Options options_;
  bool is_grouped_ = false;
  int places_ = 1;
  DenseMean dense_;  ///< of code none, and of what flush() delivers
  GroupedMean grouped_;
  DenseSubset kept_;  ///< beside the largest entries
  SparseMean sparse_;
  Vector<float> residual_;     ///< e of topk
  BackgroundMean background_;  ///< of code none
  Vector<float> arriving_;
  bool is_under_way_ = false;  ///< from start() to arriving()
};

}  // namespace kadam
