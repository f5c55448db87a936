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

/// The tensors, groups and ranks that an algorithm is made for. What an algorithm costs follows from them and
/// from its options, before it is made.
struct Problem {
  TensorLayout layout;
  ResolvedGroups groups;
  Arrangement ranks;
  std::int64_t threads = 0;  ///< CPU threads of each rank; 0: kernels run on a GPU

  /// Makes a problem of which only the number of elements is known, as in a plan: one tensor in one group, on
  /// a GPU. as_matrices: as many matrices of 1024 x 1024 as fit into `elements`, and one tensor for the rest;
  /// for algorithms whose cost depends on the shapes of matrices.
  [[nodiscard]] static Problem of_elements(std::int64_t elements, const Arrangement& ranks,
                                           const CommonOptions& common, bool as_matrices = false);

  /// d
  [[nodiscard]] std::int64_t elements() const { return layout.elements(); }
  /// d as a double, the type that Work counts elements in.
  [[nodiscard]] double all() const { return static_cast<double>(elements()); }
  /// Bytes of `count` float32 vectors of d elements each.
  [[nodiscard]] std::size_t vectors(std::size_t count) const {
    return count * sizeof(float) * static_cast<std::size_t>(elements());
  }
};

/// The cost of a step that takes the dense mean of the gradient and then runs the kernel `update`: adam,
/// lamb, dense warm-ups. name: as in StepResult::phase.
[[nodiscard]] StepPhase dense_phase(const char* name, const CommonOptions& common, const Problem& problem,
                                    const Kernel& update);
/// The same for a mean with this layout: where it is divided, each rank updates its shard, and ranks gather
/// x.
[[nodiscard]] StepPhase dense_phase(const char* name, const CommonOptions& common, const Problem& problem,
                                    const Kernel& update, const DenseMeanLayout& mean);
/// The kernel of dense Adam's update for gradients in the format that `common` says.
[[nodiscard]] Kernel adam_kernel(const CommonOptions& common);
/// The same for EightBitMoments.
[[nodiscard]] Kernel eight_bit_adam_kernel(const CommonOptions& common);

/// First and second moment of the gradient, zero at first. Memory: 8 B per element.
struct Moments {
  Vector<float> m;
  Vector<float> v;

  /// label: the name of the owner, with which the labels of the Views begin, as in "kadam::Adam".
  [[nodiscard]] static Moments zeros(const ExecutionSpace& exec, const std::string& label,
                                     std::int64_t elements) {
    return {allocate_zeros<float>(exec, label + "::m", elements),
            allocate_zeros<float>(exec, label + "::v", elements)};
  }
  /// Describes moments that are equal on all ranks.
  void describe_state(StateFields& fields) const {
    fields.equal("m", m);
    fields.equal("v", v);
  }
  /// Describes moments of some elements, which lie on the ranks as `placement` says.
  void describe_state(StateFields& fields, const Placement& placement) const {
    fields.vector("m", m, placement);
    fields.vector("v", v, placement);
  }
  /// Describes moments of each rank's own gradients, which differ between ranks.
  void describe_own_state(StateFields& fields) const {
    fields.of_each_rank("m", m);
    fields.of_each_rank("v", v);
  }
  [[nodiscard]] std::size_t bytes() const { return (m.size() + v.size()) * sizeof(float); }
};

/// What an optimizer has read from a state that was saved.
struct Restoration {
  bool to_the_last_bit = false;     ///< vectors and StateBytes: the same algorithm, options and ranks
  bool of_other_algorithm = false;  ///< only moments and parameters
};

/// Copies the segments to the memory of kernels. Waits for its copies.
[[nodiscard]] SegmentTable<MemorySpace> segment_table(const std::vector<Segment>& segments);

/// What an algorithm works with as long as it lives. An Optimizer owns it and the algorithm, and works with
/// it as well.
struct Workplace {
  std::shared_ptr<Communicator> communicator;
  CommonOptions common;
  Problem problem;
  AlgorithmCost cost;  ///< of the algorithm for this problem
  Phases phases;
  SumSpace<MemorySpace> sum_space;
  SegmentTable<MemorySpace> segments;  ///< of problem.groups
  std::int64_t steps = 0;              ///< taken so far
  Settings settings;                   ///< those in force: common and problem.groups contain them
  AbsentGradients absent;

  /// Sum of the magnitudes of `values`, in double, in an order that does not depend on threads. Waits for
  /// exec.
  [[nodiscard]] double one_norm(const ExecutionSpace& exec, const Vector<const float>& values) const;
  /// Sum of the squares of `values`, likewise.
  [[nodiscard]] double squared_norm(const ExecutionSpace& exec, const Numbers<MemorySpace>& values) const;
};

/// An optimization algorithm: its step, and the state that it keeps between steps. One class per paper.
///
/// Such a class also has: struct Options with a member CommonOptions common, describe(OptionFields&) and
/// validate(owner); a constructor (const Options&, Workplace&); and static AlgorithmCost cost(const Options&,
/// const Problem&), from which bytes, memory and plans follow. The Optimizer does everything else: agreement
/// on the norm, skipped steps, groups, the model in 16 bits, checkpoints.
class Algorithm {
 public:
  explicit Algorithm(Workplace& at) : at_(at) {}
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;
  virtual ~Algorithm() = default;

  /// Takes a step: updates the parameters and the state, and sets the result. The gradient is finite on all
  /// ranks, unless agrees_in_rounds(). Collective.
  virtual void advance(Step& step) = 0;
  /// Whether each rank checks its gradient alone, and ranks agree at rounds only. A step between rounds then
  /// costs no message, and its gradient_norm is this rank's own. advance() has to heed Step::is_finite, and
  /// at rounds to send Step::raised and to compare Step::settings between ranks.
  [[nodiscard]] virtual bool agrees_in_rounds() const { return false; }
  /// Whether advance() writes the model, in the pass that updates the parameters (2 B per element). If it
  /// does not, the Optimizer writes it after the step, in another kernel (6 B per element).
  [[nodiscard]] virtual bool writes_model() const { return false; }
  /// Whether steps leave alone the tensors that Workplace::absent leaves out. Other algorithms take the
  /// missing gradient as 0, which may decay moments and weights.
  [[nodiscard]] virtual bool leaves_out_tensors() const { return false; }
  /// The dense mean that the next step takes of the gradient; null, on all ranks, if the next step takes
  /// none.
  [[nodiscard]] virtual DenseMean* next_gradient_mean() { return nullptr; }

  /// Lists the state in `fields`, part by part. To read a state of the same algorithm it is called twice:
  /// first to read the numbers, then again for the vectors, because the numbers decide which vectors there
  /// are.
  virtual void describe_state(const ExecutionSpace& exec, StateFields& fields) = 0;
  /// Whether all moments are those of mean gradients, and nothing is owed: then another algorithm can go on
  /// from this state.
  [[nodiscard]] virtual bool has_dense_state() const { return false; }
  /// Called after a state was read: computes what follows from it. fields: the state, as it was described and
  /// read.
  virtual void adopt_state(const ExecutionSpace& /*exec*/, const StateFields& /*fields*/,
                           const Restoration& /*restoration*/) {}

  /// The algorithm's part of Optimizer::progress(): moves background exchanges on, without waiting.
  virtual void poll_background() {}
  /// The algorithm's part of Optimizer::flush(): delivers what ranks hold back, and writes `parameters`.
  /// Collective.
  virtual void deliver_all(const ExecutionSpace& /*exec*/, const Vector<float>& /*parameters*/) {}
  /// The algorithm's part of Optimizer::write_consensus(): writes into `out` the parameters that
  /// deliver_all() would leave. Changes no state. Collective.
  virtual void consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                         const Vector<float>& out) {
    Kokkos::deep_copy(exec, out, parameters);
  }
  /// Whether learning rates and weight decays of groups may change before the next step. False while local
  /// steps that were made with them wait for a synchronisation: they then change after it. Steps that travel
  /// (LocalRounds, round_delay) do not count.
  [[nodiscard]] virtual bool may_set_groups() const { return true; }
  /// Called after learning rates or weight decays of groups have changed: updates what was made from them.
  virtual void groups_were_set() {}
  /// Adds the figures that this algorithm knows to those that every optimizer has. Collective.
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
  /// The cost of this algorithm, which it may change after it was made, as when it chooses an interval by
  /// measuring. Memory and traffic plans follow it.
  [[nodiscard]] AlgorithmCost& cost_here() const { return at_.cost; }

  /// Takes a step of Adam on the mean gradient of all ranks: what `adam` does, and the warm-up of the others.
  /// Writes the model. One launch, unless tensors differ in their numbers of steps (AbsentGradients). Where
  /// the mean is divided, each rank updates its shard, then ranks gather x, and the model is not written.
  /// Collective. Shape: moments [mean.layout().received()].
  void dense_adam_step(Step& step, DenseMean& mean, const Moments& moments);
  void dense_adam_step(Step& step, DenseMean& mean, const EightBitMoments& moments);
  /// Calls adam_update(). All algorithms call it here, so that its kernels, one for each format, are compiled
  /// once.
  static void update_by_adam(const ExecutionSpace& exec, const BySegment<MemorySpace, AdamStepOf>& rule,
                             const Parameters& parameters, const Moments& moments, const Gradient& gradient);

  /// The factor that clips a gradient with this norm; 1 without clipping.
  [[nodiscard]] double clip_factor(double norm) const;
  /// The factor that clips a mean gradient that all ranks hold, by its own norm; 1 without clipping, and then
  /// the gradient is not read.
  [[nodiscard]] double clip_factor_of(const ExecutionSpace& exec, const Gradient& mean_gradient) const;
  /// The same for the part of the mean gradient that `mean` gave to this rank: by the norm over all shards.
  /// Collective.
  [[nodiscard]] double clip_factor_of(const ExecutionSpace& exec, const Gradient& mean_gradient,
                                      const DenseMean& mean) const;
  [[nodiscard]] double one_norm(const ExecutionSpace& exec, const Vector<const float>& values) const {
    return at_.one_norm(exec, values);
  }
  [[nodiscard]] double squared_norm(const ExecutionSpace& exec, const Numbers<MemorySpace>& values) const {
    return at_.squared_norm(exec, values);
  }
  /// Health::error_ratio from two squared norms: of this rank's error, and of what the last exchange
  /// delivered to all ranks; nothing if the latter is 0. Collective.
  [[nodiscard]] std::optional<double> owed_ratio(double own_error, double delivered) const;
  /// Health::error_ratio of a compressed mean: the errors that ranks and owners keep, over the last mean.
  /// Collective.
  [[nodiscard]] std::optional<double> error_ratio(const ExecutionSpace& exec, const GroupedMean& mean) const;
  /// Health::largest_step where v is frozen; c2: the bias correction that v is to be divided by. Collective.
  [[nodiscard]] std::optional<LargestStep> largest_step(const ExecutionSpace& exec, const Moments& moments,
                                                        double c2) const;
  /// The largest of the ranks' values over the smallest; nothing if the smallest is 0. Collective.
  [[nodiscard]] std::optional<double> spread_over_ranks(double value) const;

 private:
  /// Takes the mean gradient and calls update(rule, elements, parameters, gradient): once for all elements
  /// or, where tensors differ in their numbers of steps, for each run of tensors with their bias corrections.
  /// Tensors that are left out stay. Where the mean is divided, parameters and gradient are those of this
  /// rank's shard, `elements` is still a range of the whole vector, and ranks gather x afterwards.
  template <class Update>
  void update_from_mean(Step& step, DenseMean& mean, const Update& update);
  /// Calls update(rule, elements) for each run of tensors in `received`, with the bias corrections of their
  /// numbers of steps.
  template <class Update>
  void update_by_own_steps(const Step& step, const ElementRange& received, const Parameters& parameters,
                           const Update& update) const;

  Workplace& at_;
};

}  // namespace kadam
