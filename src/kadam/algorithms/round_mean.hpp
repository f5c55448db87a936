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

/// The mean over ranks of U, the sum of a rank's steps in a round, by the code that the option `code` names.
///
///   none            the exact mean, in float32
///   sign, ...       every code of AnyQuantiser: GroupedMean, two-sided error feedback
///   topk            h = U + e; every rank sends the largest entries of every block of h, each as one of two
///                   magnitudes (SparseValues::two_levels), to all (SparseMean);
///                   e <- beta_e (h - what was sent)
///
/// Errors are multiplied by beta_e = residual_decay after every exchange. Tensors kept dense have the exact
/// mean with every code. One rank: the identity, without error.
///
/// In the background: start(), and some steps later arriving(); between the two poll() moves messages on, and
/// nobody waits. Not with topk. start() itself exchanges tensors kept dense, and waits for their mean.
/// Memory: the result, 4 d; with code none that of BackgroundMean, the result included.
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
    /// Adds the cost of an exchange to `phase`, and to `use` what the mean holds.
    void add(const Problem& problem, StepPhase& phase, MemoryUse& use) const;
    /// The same for an exchange in the background, which begins in the phase `start` and is wanted in the
    /// phase `arrival`, `steps` steps later.
    void add(const Problem& problem, StepPhase& start, StepPhase& arrival, std::int64_t steps,
             MemoryUse& use) const;
  };
  enum class Travels : std::uint8_t { at_once, in_background };

  RoundMean() = default;
  /// travels: whether exchange() is used, or start() and arriving(). The communicator has to outlive this
  /// object.
  RoundMean(const ExecutionSpace& exec, const Options& options,
            const std::shared_ptr<Communicator>& communicator, std::int64_t elements,
            const ResolvedGroups& groups, Travels travels);

  using Outer = UpdateBySegment<MemorySpace, OuterFactorsOf, OuterStep<MemorySpace>>;
  /// Exchanges u and calls outer(i, mean of element i) for all elements, with the codes of AnyQuantiser for
  /// those that move (lr_scale > 0). u may be overwritten. Collective.
  void exchange(const Step& step, const Vector<float>& u, const Outer& outer);

  /// Makes the communicator and the staging memory that start() needs; without this call the first start()
  /// does it. Collective.
  void prepare_start() {
    if (is_grouped_) grouped_.compressed().prepare_background();
  }
  /// Starts the exchange of u in the background; u must not change until arriving(). Collective.
  void start(const Step& step, const Vector<float>& u);
  /// Moves on what start() has started, without waiting.
  void poll();
  /// The mean of the last start(); waits for it if it has not arrived. Called again, or after a state was
  /// read into the result, it returns the result as it is. Elements that do not move: 0. Collective.
  [[nodiscard]] const Vector<float>& arriving(const ExecutionSpace& exec, Phases& phases);

  /// The exact mean of any vector; valid until the next exchange. Collective.
  [[nodiscard]] Vector<const float> exact(const ExecutionSpace& exec, Phases& phases,
                                          const Vector<const float>& values) {
    return dense_(exec, phases, values);
  }
  /// Adds errors of this rank to its `target`, so that the mean of `target` over ranks grows by all that is
  /// owed. Async.
  void add_owed(const ExecutionSpace& exec, const Vector<float>& target) const;
  /// Sets all errors to 0.
  void forget_owed(const ExecutionSpace& exec) const { scale_errors(exec, 0.0F); }
  /// Throws std::invalid_argument where errors are those of nodes, not of ranks: in two levels, with a code
  /// of AnyQuantiser.
  void require_own_errors() const;
  /// This rank's errors, of the whole vector; empty where the code leaves none.
  [[nodiscard]] const Vector<float>& own_errors() const;
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const;
  /// The mean that has Health::error_ratio; null with code none and topk.
  [[nodiscard]] const GroupedMean* grouped() const { return is_grouped_ ? &grouped_ : nullptr; }

 private:
  void exchange_all(const Step& step, const Vector<float>& u, const Outer& outer);
  void exchange_grouped(const Step& step, const Vector<float>& u, const Outer& outer);
  void exchange_largest(const Step& step, const Vector<float>& u, const Outer& outer);
  void scale_errors(const ExecutionSpace& exec, float factor) const;

  Options options_;
  bool is_grouped_ = false;
  int places_ = 1;   ///< ranks of a node; 1 with one level
  DenseMean dense_;  ///< of code none, and for exact()
  GroupedMean grouped_;
  DenseSubset kept_;  ///< tensors kept dense, with topk
  SparseMean sparse_;
  Vector<float> residual_;     ///< e of topk
  BackgroundMean background_;  ///< of code none
  Vector<float> arriving_;     ///< the mean of the last start()
  bool is_under_way_ = false;  ///< from start() to arriving()
};

}  // namespace kadam
