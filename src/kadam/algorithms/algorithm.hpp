// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/absent_gradients.hpp>
#include <kadam/algorithms/health.hpp>
#include <kadam/algorithms/step.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/cost/cost.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/common_options.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace kadam {

class DenseMean;
class DenseMeanLayout;
class EightBitMoments;
class GroupedMean;

/// What an algorithm is made for: from this and its options follows what it costs, before it is made.
struct Problem {
  TensorLayout layout;
  ResolvedGroups groups;
  Arrangement ranks;
  std::int64_t threads = 0;  ///< of a CPU that each rank has; 0: a GPU

  /// One tensor of so many elements in one group, on a GPU: what a plan knows. as_matrices: square ones of
  /// side 1024, as far as elements go, for algorithms to which a matrix is more than its elements.
  [[nodiscard]] static Problem of_elements(std::int64_t elements, const Arrangement& ranks,
                                           const CommonOptions& common, bool as_matrices = false);

  /// d
  [[nodiscard]] std::int64_t elements() const { return layout.elements(); }
  /// All elements, as kernels count them.
  [[nodiscard]] double all() const { return static_cast<double>(elements()); }
  /// Bytes of so many float32 vectors.
  [[nodiscard]] std::size_t vectors(std::size_t count) const {
    return count * sizeof(float) * static_cast<std::size_t>(elements());
  }
};

/// A step with the dense mean of the gradient: adam, lamb, dense warm-ups; the update alone differs.
[[nodiscard]] StepPhase dense_phase(const char* name, const CommonOptions& common, const Problem& problem,
                                    const Kernel& update);
/// The same with this mean: where it is divided, ranks update a shard each.
[[nodiscard]] StepPhase dense_phase(const char* name, const CommonOptions& common, const Problem& problem,
                                    const Kernel& update, const DenseMeanLayout& mean);
/// The update of dense Adam from gradients of this format.
[[nodiscard]] Kernel adam_kernel(const CommonOptions& common);
/// The same with EightBitMoments.
[[nodiscard]] Kernel eight_bit_adam_kernel(const CommonOptions& common);

/// First and second moment of the gradient, zero at first. Memory: 8 B per element.
struct Moments {
  Vector<float> m;
  Vector<float> v;

  /// label: the owner's, as in "kadam::Adam".
  [[nodiscard]] static Moments zeros(const ExecutionSpace& exec, const std::string& label,
                                     std::int64_t elements) {
    return {allocate_zeros<float>(exec, label + "::m", elements),
            allocate_zeros<float>(exec, label + "::v", elements)};
  }
  /// The same on all ranks.
  void describe_state(StateFields& fields) const {
    fields.equal("m", m);
    fields.equal("v", v);
  }
  /// Of some elements, which lie so on the ranks.
  void describe_state(StateFields& fields, const Placement& placement) const {
    fields.vector("m", m, placement);
    fields.vector("v", v, placement);
  }
  /// Of each rank's own gradients.
  void describe_own_state(StateFields& fields) const {
    fields.of_each_rank("m", m);
    fields.of_each_rank("v", v);
  }
  [[nodiscard]] std::size_t bytes() const { return (m.size() + v.size()) * sizeof(float); }
};

/// How an optimizer came to a state that it did not compute itself.
struct Restoration {
  bool to_the_last_bit = false;     ///< StateBytes were restored, too
  bool of_other_algorithm = false;  ///< moments and parameters alone
};

/// The segments where kernels find them. Waits for its copies.
[[nodiscard]] SegmentTable<MemorySpace> segment_table(const std::vector<Segment>& segments);

/// What an algorithm works with all its life, and shares with the Optimizer that owns both.
struct Workplace {
  std::shared_ptr<Communicator> communicator;
  CommonOptions common;
  Problem problem;
  AlgorithmCost cost;  ///< of the algorithm for this problem
  Phases phases;
  SumSpace<MemorySpace> sum_space;
  SegmentTable<MemorySpace> segments;  ///< of problem.groups
  std::int64_t steps = 0;              ///< taken so far
  Settings settings;                   ///< common and problem.groups follow them
  AbsentGradients absent;

  /// Sum of the magnitudes, sum of the squares: in double, in an order that does not depend on threads.
  [[nodiscard]] double one_norm(const ExecutionSpace& exec, const Vector<const float>& values) const;
  [[nodiscard]] double squared_norm(const ExecutionSpace& exec, const Numbers<MemorySpace>& values) const;
};

/// An optimization algorithm: what a step does, and what lies between steps. One class per paper.
///
/// Its class also has: struct Options with a member CommonOptions common, describe(OptionFields&) and
/// validate(owner); a constructor (const Options&, Workplace&); and
/// static AlgorithmCost cost(const Options&, const Problem&), from which bytes, memory and plans follow. All
/// else, such as agreement on the norm, skipped steps, groups, the model in 16 bits, checkpoints, is the
/// Optimizer's.
class Algorithm {
 public:
  explicit Algorithm(Workplace& at) : at_(at) {}
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;
  virtual ~Algorithm() = default;

  /// A step on finite gradients.
  virtual void advance(Step& step) = 0;
  /// Whether ranks look at their gradients each for itself: a step then costs no message, its gradient_norm
  /// is this rank's own, and advance() has to mind Step::is_finite, and to tell Step::raised, and compare
  /// Step::settings, now and then.
  [[nodiscard]] virtual bool agrees_in_rounds() const { return false; }
  /// Whether advance() writes the model, in the pass that updates the parameters. For those that do not, a
  /// kernel of its own does it after the step: 6 B per element instead of 2.
  [[nodiscard]] virtual bool writes_model() const { return false; }
  /// Whether steps leave alone what Workplace::absent says. Elsewhere a gradient that no rank has counts as
  /// 0, which may decay moments and weights.
  [[nodiscard]] virtual bool leaves_out_tensors() const { return false; }
  /// What the next step takes the mean of the gradient with, on all ranks; null if it takes none.
  [[nodiscard]] virtual DenseMean* next_gradient_mean() { return nullptr; }

  /// Lists the state, part by part: a second description of the same, after its numbers have been read, says
  /// which vectors there are.
  virtual void describe_state(const ExecutionSpace& exec, StateFields& fields) = 0;
  /// Whether all moments are those of mean gradients, and nothing is owed.
  [[nodiscard]] virtual bool has_dense_state() const { return false; }
  /// After a state was read: brings up to date what follows from it.
  virtual void adopt_state(const ExecutionSpace& /*exec*/, const StateFields& /*fields*/,
                           const Restoration& /*restoration*/) {}

  /// Optimizer::progress() of background exchanges.
  virtual void poll_background() {}
  /// Optimizer::flush() and write_consensus() where ranks differ between synchronisations.
  virtual void deliver_all(const ExecutionSpace& /*exec*/, const Vector<float>& /*parameters*/) {}
  virtual void consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                         const Vector<float>& out) {
    Kokkos::deep_copy(exec, out, parameters);
  }
  /// Whether learning rates and weight decays of groups may change before the next step. Not while own steps
  /// that were made with them wait for a synchronisation: then they change after it.
  [[nodiscard]] virtual bool may_set_groups() const { return true; }
  /// They have changed: brings up to date what was made of them.
  virtual void groups_were_set() {}
  /// Adds what this algorithm knows to what all know.
  virtual void add_health(const ExecutionSpace& /*exec*/, Health& /*health*/) {}
  /// Coordinates that take no part in compression (0 before it starts).
  [[nodiscard]] virtual std::int64_t inactive_elements() const { return 0; }

 protected:
  [[nodiscard]] const std::shared_ptr<Communicator>& shared_communicator() const { return at_.communicator; }
  [[nodiscard]] Communicator& communicator() const { return *at_.communicator; }
  [[nodiscard]] Phases& phases() const { return at_.phases; }
  [[nodiscard]] const CommonOptions& common() const { return at_.common; }
  [[nodiscard]] const TensorLayout& layout() const { return at_.problem.layout; }
  [[nodiscard]] const ResolvedGroups& groups() const { return at_.problem.groups; }
  [[nodiscard]] const SegmentTable<MemorySpace>& segments() const { return at_.segments; }
  [[nodiscard]] std::int64_t elements() const { return at_.problem.elements(); }
  [[nodiscard]] std::int64_t steps_taken() const { return at_.steps; }
  [[nodiscard]] const SumSpace<MemorySpace>& sum_space() const { return at_.sum_space; }
  /// Of algorithms that choose by measuring: traffic plans follow it.
  [[nodiscard]] AlgorithmCost& cost_here() const { return at_.cost; }

  /// Adam on the mean gradient of all ranks: what `adam` does, and the warm-up of the others. Writes the
  /// model. One launch, unless tensors differ in their numbers of steps (AbsentGradients). Where the mean is
  /// divided each rank updates its shard, and gathers x; the model is not written. Shape: moments
  /// [received()] of the mean.
  void dense_adam_step(Step& step, DenseMean& mean, const Moments& moments);
  void dense_adam_step(Step& step, DenseMean& mean, const EightBitMoments& moments);
  /// adam_update(), which has a kernel for each format: compiled once for all that use it.
  static void update_by_adam(const ExecutionSpace& exec, const BySegment<MemorySpace, AdamStepOf>& rule,
                             const Parameters& parameters, const Moments& moments, const Gradient& gradient);

  /// The factor that clips a gradient of this norm; 1 without clipping.
  [[nodiscard]] double clip_factor(double norm) const;
  /// The factor that clips a mean gradient that all ranks hold, by its own norm. Reads it only if need be.
  [[nodiscard]] double clip_factor_of(const ExecutionSpace& exec, const Gradient& mean_gradient) const;
  /// The same of what this mean gave to each rank: by the norm over all shards. Collective.
  [[nodiscard]] double clip_factor_of(const ExecutionSpace& exec, const Gradient& mean_gradient,
                                      const DenseMean& mean) const;
  [[nodiscard]] double one_norm(const ExecutionSpace& exec, const Vector<const float>& values) const {
    return at_.one_norm(exec, values);
  }
  [[nodiscard]] double squared_norm(const ExecutionSpace& exec, const Numbers<MemorySpace>& values) const {
    return at_.squared_norm(exec, values);
  }
  /// Health::error_ratio from the squared norms of this rank's error and of what all ranks got; nothing if
  /// the latter is 0. Collective.
  [[nodiscard]] std::optional<double> owed_ratio(double own_error, double delivered) const;
  /// The same of a compressed mean: what ranks and owners keep, and what all got.
  [[nodiscard]] std::optional<double> error_ratio(const ExecutionSpace& exec, const GroupedMean& mean) const;
  /// Health::largest_step of a frozen variance, to be divided by c2. Collective.
  [[nodiscard]] std::optional<LargestStep> largest_step(const ExecutionSpace& exec, const Moments& moments,
                                                        double c2) const;
  /// Largest over smallest of the ranks' values; nothing if the smallest is 0. Collective.
  [[nodiscard]] std::optional<double> spread_over_ranks(double value) const;

 private:
  /// update(rule, elements, parameters, gradient) from the mean gradient: of all at once, or of tensors with
  /// the corrections of their own steps; what is left out stays. Where the mean is divided, parameters and
  /// gradient are those of this rank's shard, elements count from the first of all, and x is gathered
  /// afterwards.
  template <class Update>
  void update_from_mean(Step& step, DenseMean& mean, const Update& update);
  template <class Update>
  void update_by_own_steps(const Step& step, const ElementRange& received, const Parameters& parameters,
                           const Update& update) const;

  Workplace& at_;
};

}  // namespace kadam
