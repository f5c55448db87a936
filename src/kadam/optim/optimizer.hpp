// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/optim/health.hpp>
#include <kadam/optim/moments.hpp>
#include <kadam/optim/step.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kadam {

struct AdamStep;
class GroupedMean;

/// Memory per rank that an optimizer holds, beside parameters and gradient, in bytes.
struct MemoryUse {
  std::size_t state_bytes = 0;      ///< what a checkpoint holds
  std::size_t workspace_bytes = 0;  ///< messages and partial results
};

/// Bytes that this rank sends in the steps of one phase: at every step t with (t - after) mod every = 0.
struct PlannedTraffic {
  std::string phase;  ///< as in StepResult
  Traffic traffic = Traffic::dense;
  std::size_t bytes = 0;
  std::int64_t every = 1;
  std::int64_t after = 0;
};

/// How an optimizer came to a state that it did not compute itself.
struct Restoration {
  bool to_the_last_bit = false;     ///< StateBytes were restored, too
  bool of_other_algorithm = false;  ///< moments and parameters alone
};

/// Minimises a loss over n ranks: one object per rank, the same options on all.
///
/// Every algorithm is one class, made by make_optimizer(). Parameters are to be equal on all ranks before the
/// first step. After each step that says so (StepResult::synchronised) they are bitwise equal on all ranks.
/// Most algorithms synchronise at every step; zero_one_adam, divisible_adam and, with step_ahead > 0,
/// locally_accumulated_adam let each rank work at a point of its own in between. They keep the common one
/// themselves, from step 1 or from the end of the warm-up on: parameters are then written, never read.
class Optimizer {
 public:
  Optimizer(std::string_view name, TensorLayout layout, std::shared_ptr<Communicator> communicator,
            CommonOptions common);
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  /// One step: parameters are updated in place from this rank's gradient (the mean over its own batch). If
  /// they come with a model in 16 bits, it is written as well: the rounded parameters, to the last bit.
  ///
  /// Collective: by all ranks. Async: kernels run on exec; wait for it before reading parameters on the host.
  /// Shape: all have layout().elements() entries. Errors: std::invalid_argument for another extent, a
  /// gradient in another format than gradient_format(), or another View than gradient_ready() was given;
  /// std::out_of_range on all ranks past the end of a list of learning rates; MpiError. A NaN or Inf in the
  /// gradient of any rank is no error: the step is skipped on all ranks, writes nothing and is counted.
  /// Wire: traffic_plan(), and (n - 1) 16 bytes of control: norm and raised bits (loco that clips: 8 more).
  StepResult step(const ExecutionSpace& exec, const Parameters& parameters, const Gradient& gradient);

  /// Says during the backward pass that some elements of this rank's next gradient are final: once what is
  /// enqueued on exec is done they will not be written before step(). Where the next step takes the dense
  /// mean of the gradient (adam, lamb, warm-ups, variance steps), on several ranks in one level, what is
  /// complete is sent at once, and step() waits for the rest; elsewhere this does nothing. Results are the
  /// same to the last bit.
  ///
  /// Ranks may announce different parts, in any order, or nothing; but whoever does has to take a step next,
  /// with the same View, and until then nothing else may be exchanged over the communicator. Each call also
  /// moves on what earlier ones have started; background exchanges need progress(). Waits for exec where
  /// something can be sent, for no other rank. Errors: std::invalid_argument as of step(), and for a range
  /// that is not in it.
  void gradient_ready(const ExecutionSpace& exec, const Gradient& gradient, const ElementRange& range);

  /// Bits that all ranks are to know of: those of all ranks come back together in the result of the next
  /// step, with what the ranks tell each other anyway. So a signal that reached one rank, or a clock that
  /// only one looks at, ends a run on all ranks after the same step.
  void raise(std::uint32_t bits) { raised_ |= bits; }

  /// Delivers exactly what ranks hold back: local steps (zero_one_adam) and residuals (divisible_adam,
  /// locally_accumulated_adam, where parameters may be equal before as well). Parameters are then equal on
  /// all ranks. What codes left in error feedback stays owed: the other algorithms deliver nothing. A model
  /// is written in any case. To be called before training ends; a later step goes on from there. Collective.
  /// Wire: at most one dense mean, in float32.
  void flush(const ExecutionSpace& exec, const Parameters& parameters);

  /// Writes the parameters that flush() would leave into `out`, and into its model if there is one, and
  /// changes nothing else: what to evaluate in the middle of training. Collective. Wire: at most one dense
  /// mean, in float32.
  void write_consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                       const Parameters& out);

  /// Moves on what travels while the program computes: gradients that were announced and, if the option
  /// `progress` is "poll", background exchanges. To be called between parts of the computation of a gradient,
  /// every millisecond or so. Waits for nothing; does nothing otherwise.
  void progress();

  /// All that a continuation to the last bit needs, as it lies on this rank: valid until the next step.
  /// Collective: waits for what is on its way in the background.
  [[nodiscard]] StateFields state_to_save(const ExecutionSpace& exec, const Vector<float>& parameters);

  /// Goes on from a state that was saved, on any number of ranks: what ranks owed each other is conserved but
  /// for rounding. A state of another algorithm is taken over where its moments are those of mean gradients:
  /// that of adam or lamb, or of any other in its warm-up. With the same algorithm, options and ranks all
  /// that follows is as if there had been no interruption, to the last bit.
  ///
  /// Writes parameters, and their model. Errors: std::runtime_error if the state is of another kind, or lacks
  /// something; then this optimizer is to be made anew. Waits for exec.
  void restore(const ExecutionSpace& exec, const Parameters& parameters, StateSource& source);

  /// What can be known about whether training goes well. Reads the state; not meant for every step.
  /// Collective.
  [[nodiscard]] Health health(const ExecutionSpace& exec);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const TensorLayout& layout() const { return layout_; }
  [[nodiscard]] Communicator& communicator() { return *communicator_; }
  [[nodiscard]] const Communicator& communicator() const { return *communicator_; }
  /// The format that step() takes gradients in.
  [[nodiscard]] NumberFormat gradient_format() const { return common_.gradients; }
  [[nodiscard]] std::int64_t steps_taken() const { return step_; }
  [[nodiscard]] std::int64_t steps_skipped() const { return skipped_; }
  /// Seconds of the last step per phase, if measured.
  [[nodiscard]] Phases& phases() { return phases_; }

  /// All options with their values, defaults included.
  [[nodiscard]] virtual OptionMap options() const = 0;
  /// The groups that it was made with, as a text: equal for equal groups, empty without any.
  [[nodiscard]] std::string groups_text() const;
  [[nodiscard]] virtual MemoryUse memory() const = 0;
  /// Everything that is sent, control traffic left out.
  [[nodiscard]] virtual std::vector<PlannedTraffic> traffic_plan() const = 0;
  /// What traffic_plan() says of step t = 1, 2, ... in this phase.
  [[nodiscard]] std::size_t bytes_sent_in(std::int64_t step, std::string_view phase) const;
  /// Throws on every rank unless all ranks hold the same algorithm, tensors and options. Collective.
  void require_agreement();
  /// Coordinates that take no part in compression (0 before it starts).
  [[nodiscard]] virtual std::int64_t inactive_elements() const { return 0; }

 protected:
  [[nodiscard]] const std::shared_ptr<Communicator>& shared_communicator() const { return communicator_; }

  /// The algorithm.
  virtual void advance(Step& step) = 0;
  /// Whether advance() writes the model, in the pass that updates the parameters. For those that do not, a
  /// kernel of its own does it after the step: 6 B per element instead of 2.
  [[nodiscard]] virtual bool writes_model() const { return false; }

  /// What the next step takes the mean of the gradient with, on all ranks; null if it takes none.
  [[nodiscard]] virtual DenseMean* next_gradient_mean() { return nullptr; }
  /// What this algorithm adds to the state: a second description of the same, after its numbers have been
  /// read, says which vectors there are.
  virtual void describe_state(const ExecutionSpace& exec, StateFields& fields) = 0;
  /// Whether all moments are those of mean gradients, and nothing is owed.
  [[nodiscard]] virtual bool has_dense_state() const { return false; }
  /// After a state was read: brings up to date what follows from it.
  virtual void adopt_state(const ExecutionSpace& /*exec*/, const StateFields& /*fields*/,
                           const Restoration& /*restoration*/) {}

  /// progress() of background exchanges.
  virtual void poll_background() {}

  /// flush() and write_consensus() of algorithms whose ranks differ between synchronisations.
  virtual void deliver_all(const ExecutionSpace& /*exec*/, const Vector<float>& /*parameters*/) {}
  virtual void consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                         const Vector<float>& out) {
    Kokkos::deep_copy(exec, out, parameters);
  }
  /// Adds what this algorithm knows to what all know.
  virtual void add_health(const ExecutionSpace& /*exec*/, Health& /*health*/) {}

  /// Adam on the mean gradient of all ranks: what `adam` does, and the warm-up of the others. Writes the
  /// model.
  void dense_adam_step(Step& step, DenseMean& mean, const Moments& moments);
  /// adam_update(), which has a kernel for each format: compiled once for all that use it.
  static void update_by_adam(const ExecutionSpace& exec, const AdamStep& rule, const ElementRange& range,
                             const Parameters& parameters, const Moments& moments, const Gradient& gradient);

  /// The factor that clips a gradient of this norm; 1 without clipping.
  [[nodiscard]] double clip_factor(double norm) const;
  /// The factor that clips a mean gradient that all ranks hold, by its own norm. Reads it only if need be.
  [[nodiscard]] double clip_factor_of(const ExecutionSpace& exec, const Gradient& mean_gradient);
  /// Sum of the magnitudes, sum of the squares: in double, in an order that does not depend on threads.
  [[nodiscard]] double one_norm(const ExecutionSpace& exec, const Vector<const float>& values);
  [[nodiscard]] double squared_norm(const ExecutionSpace& exec, const Numbers<MemorySpace>& values);
  /// Health::error_ratio from the squared norms of this rank's error and of what all ranks got; nothing if
  /// the latter is 0. Collective.
  [[nodiscard]] std::optional<double> owed_ratio(double own_error, double delivered);
  /// The same of a compressed mean: what ranks and owners keep, and what all got.
  [[nodiscard]] std::optional<double> error_ratio(const ExecutionSpace& exec, const GroupedMean& mean);
  /// Largest over smallest of the ranks' values; nothing if the smallest is 0. Collective.
  [[nodiscard]] std::optional<double> spread_over_ranks(double value);
  [[nodiscard]] const SumSpace<MemorySpace>& sum_space() const { return sum_space_; }

  /// Adds to `plan` what a rank sends in the steps of a phase with this mean of the gradient.
  void add_traffic(const char* phase, const DenseMean& mean, std::vector<PlannedTraffic>& plan) const;

  [[nodiscard]] const CommonOptions& common() const { return common_; }
  [[nodiscard]] const ResolvedGroups& groups() const { return groups_; }
  [[nodiscard]] std::int64_t elements() const { return layout_.elements(); }

 private:
  void require_extent(const char* what, std::size_t got, const std::string& label) const;
  void require_extents(const Parameters& parameters) const;
  void require_gradient(const Gradient& gradient) const;
  void require_format(const Gradient& gradient) const;
  void require_announced(const Gradient& gradient);
  void write_model(const ExecutionSpace& exec, const Parameters& parameters);
  void describe_numbers(StateFields& fields);
  [[nodiscard]] StateFields describe(const ExecutionSpace& exec, const Vector<float>& parameters,
                                     StateFields::Purpose purpose);
  void restore_vectors(const ExecutionSpace& exec, const Vector<float>& parameters, StateSource& source,
                       const StateFields& fields, bool takes_over);
  /// Whether the exchange of the gradient is under way on some rank.
  [[nodiscard]] bool agree_on_gradient(const ExecutionSpace& exec, const Gradient& gradient,
                                       StepResult& result);

  std::string name_;
  TensorLayout layout_;
  std::shared_ptr<Communicator> communicator_;
  CommonOptions common_;
  ResolvedGroups groups_;
  Phases phases_;
  std::int64_t step_ = 0;
  std::int64_t skipped_ = 0;
  std::uint32_t raised_ = 0;
  bool synchronised_ = true;    ///< the parameters are equal on all ranks
  bool state_is_dense_ = true;  ///< has_dense_state() of the state that was saved or read last
  SumSpace<MemorySpace> sum_space_;
};

}  // namespace kadam
