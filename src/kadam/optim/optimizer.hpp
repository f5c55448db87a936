// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/algorithm.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/option_fields.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kadam {

/// A hash of the tensors' names and lengths in their order, by which a checkpoint of another model is
/// recognised.
[[nodiscard]] std::uint64_t hash_of(const TensorLayout& layout);

/// Bytes of one class of traffic that this rank sends in a step of one phase: in each step t of this phase
/// with (t - after) mod every = 0.
struct PlannedTraffic {
  std::string phase;  ///< as in StepResult
  Traffic traffic = Traffic::dense;
  std::size_t bytes = 0;
  std::int64_t every = 1;
  std::int64_t after = 0;
};

/// Minimises a loss over n ranks. Each rank has one object; all are made with the same options.
///
/// make_optimizer() makes it, and gives it an Algorithm. The parameters must be equal on all ranks before the
/// first step. After each step whose result says so (StepResult::synchronised) they are bitwise equal on all
/// ranks. Most algorithms synchronise at every step. With zero_one_adam, local_adam, local_muon and, where
/// step_ahead > 0, divisible_adam and locally_accumulated_adam, each rank works at parameters of its own
/// between two synchronisations. These algorithms, and divisible_adam with step_ahead = 0, keep the common
/// parameters themselves, from step 1 or from the end of the warm-up on: from then on step() only writes the
/// caller's parameters and does not read them: a change that the program makes to them is lost. The same
/// holds for loco with parameters = "bf16" on several ranks, from step 1 on. One thread at a time uses an
/// object.
class Optimizer final {
 public:
  /// Everything that an optimizer is made with, except its algorithm.
  struct Setup {
    std::string name;
    OptionMap options;  ///< all options, defaults included
    CommonOptions common;
    TensorLayout layout;
    std::shared_ptr<Communicator> communicator;
    /// Throws std::invalid_argument unless the algorithm can work with these common options.
    std::function<void(const CommonOptions&)> validate;
  };
  /// cost_of(problem) returns what the algorithm costs, make(workplace) makes it. Collective: allocates,
  /// exchanges nothing.
  Optimizer(Setup setup, const std::function<AlgorithmCost(const Problem&)>& cost_of,
            const std::function<std::unique_ptr<Algorithm>(Workplace&)>& make);

  /// Takes one step: updates parameters in place from this rank's own gradient, the mean over its own batch.
  /// If parameters come with a model in 16 bits, writes it as well: the rounded parameters, to the last bit.
  ///
  /// Collective: by all ranks. Async: kernels run on exec; wait for it before reading parameters on the host.
  /// exec may be another instance in each call of this and all other functions: a caller that changes it must
  /// first wait for the old one, since kernels of the last call may still use what the next call uses.
  /// Shape: all have layout().elements() entries. Errors: std::invalid_argument for another extent, a
  /// gradient in another format than gradient_format() or that overlaps the parameters, or another View than
  /// gradient_ready() was given, and on all ranks where they have set different values (set()), or start from
  /// different parameters;
  /// std::out_of_range on all ranks past the end of a list of learning rates; PeerFailure where another rank
  /// cannot take the step or does not come; MpiError. A NaN or Inf in the gradient of any rank is no error:
  /// the step is skipped on all ranks, writes nothing and is counted. With local_adam and local_muon and
  /// nonfinite = "round" only a rank with such a gradient skips it; ranks hear of it at the next round
  /// (StepResult::skipped_alone).
  /// Wire: traffic_plan(), and 16 (n - 1) bytes of control, with nonfinite = "round" at rounds only: norm,
  /// raised bits and whether all have set the same, in the first step also the same parameters (shards that
  /// clip: 8 more); leave_out() adds to them.
  StepResult step(const ExecutionSpace& exec, const Parameters& parameters, const Gradient& gradient);

  /// Ends the step on all ranks; a rank that cannot take the step calls this instead of step(). On the other
  /// ranks step() throws PeerFailure; with local_adam and local_muon and nonfinite = "round" only the step of
  /// the next round does, which this call then waits for. Nothing can be exchanged afterwards. step() itself
  /// calls it where it refuses its arguments.
  void give_up_step() noexcept;
  /// Calls make(), which prepares the arguments of a step, and returns its result. If make() throws, gives up
  /// the step.
  template <class Make>
  auto prepare_step(const Make& make) {
    try {
      return make();
    } catch (...) {
      give_up_step();
      throw;
    }
  }

  /// Announces during the backward pass that the elements `range` of this rank's next gradient are final:
  /// once exec has done what is enqueued on it now, nothing writes them before step(). If the next step takes
  /// the dense mean of the gradient (adam, lamb, muon, dense warm-ups, variance steps), on several ranks in
  /// one level, complete slices are sent at once, and step() waits for the rest; otherwise the call does
  /// nothing. Results are the same to the last bit.
  ///
  /// Ranks may announce different elements, in any order, or none. But a rank that has announced some must
  /// take a step next, with the same View, and exchange nothing else over the communicator until then. Each
  /// call also moves on what earlier calls have started; background exchanges need progress(). Waits neither
  /// for exec nor for another rank: on a device, elements that exec has not finished leave in a later call.
  /// Errors: std::invalid_argument as in step(), and for a range outside of the gradient.
  void gradient_ready(const ExecutionSpace& exec, const Gradient& gradient, const ElementRange& range);

  /// Says before a step that this rank has no gradient for these tensors; their part of the gradient must be
  /// zeros. tensors: their indices in layout(). A tensor that all ranks name is left alone in that step, as
  /// by PyTorch: no momentum, no weight decay, and its bias corrections do not count the step. A tensor that
  /// some rank does not name gets the mean gradient, to which this rank adds 0.
  ///
  /// Only `adam` leaves tensors alone; in other algorithms their gradient is 0. A call holds for one step,
  /// even if that is skipped, and replaces an earlier call for the same step. Checkpoints keep how many steps
  /// each tensor was left out of. Errors: std::invalid_argument for an index of no tensor. Wire: nothing
  /// unless all ranks name some; then (n - 1) 8 bytes of control per 52 tensors.
  void leave_out(std::span<const std::size_t> tensors);

  /// Sets options from the next step on, as in set({{"lr", 3e-4}}): "lr" (gamma of every step, in place of a
  /// schedule or a list), "weight_decay", "clip_norm". A value holds until it is set again, and checkpoints
  /// keep it; options() still returns the values that the optimizer was made with.
  ///
  /// All ranks must set the same before the same step: otherwise that step throws std::invalid_argument on
  /// all ranks, names both values, and leaves everything as it was. With local_adam and local_muon and
  /// nonfinite = "round" the next round throws; by then ranks differ, and training can only go on from a
  /// checkpoint.
  ///
  /// Steps that have been sent already, or are owed, keep the learning rate that they were made with:
  /// local_adam, local_muon, zero_one_adam, efficient_adam, locally_accumulated_adam and divisible_adam send
  /// steps; the others send gradients and momenta, which contain no learning rate. Where ranks take steps of
  /// their own (zero_one_adam, local_adam, local_muon), a new weight decay holds after the next
  /// synchronisation, also for a round that then still travels (round_delay). Errors: std::invalid_argument
  /// for another option, a value below 0 or not finite, or one that this algorithm cannot work with, also in
  /// combination with the weight decay that still holds; nothing is set then.
  void set(const OptionMap& values);
  /// Sets lr_scale and weight_decay of the parameter group that was made with the pattern `tensors`, by the
  /// rules of set(). weight_decay: nothing for that of the optimizer. A new lr_scale holds when a new weight
  /// decay would. Errors: std::invalid_argument also if no group was made with this pattern, or if a tensor
  /// would begin to move or stop moving (lr_scale 0), which decides how it is exchanged: set the learning
  /// rate to 0 instead, or make the optimizer anew.
  void set_group(std::string_view tensors, double lr_scale, const std::optional<double>& weight_decay);
  /// The values that set() and set_group() have set; empty: everything is as the optimizer was made.
  [[nodiscard]] const Settings& settings() const { return wanted_; }

  /// Tells all ranks these bits: the result of the next step (StepResult::raised) has those of all ranks
  /// together; with local_adam and local_muon and nonfinite = "round", that of the last step of the round.
  /// They travel with what ranks tell each other anyway. So a signal that reached one rank, or a clock that
  /// only one rank reads, ends a run on all ranks after the same step.
  void raise(std::uint32_t bits) { raised_ |= bits; }

  /// Delivers exactly what ranks hold back: local steps (zero_one_adam), local steps and what their code owes
  /// (local_adam, local_muon), and residuals (divisible_adam, locally_accumulated_adam, where parameters may
  /// be equal before as well). Parameters are then equal on all ranks. The other algorithms deliver nothing.
  /// What their codes, and the code of zero_one_adam, left in error feedback stays owed. Writes a model in
  /// any case. Call it before training ends; a later step goes on from there. Collective. Async, as step().
  /// Wire: at most one dense mean, in float32.
  void flush(const ExecutionSpace& exec, const Parameters& parameters);

  /// Writes the parameters that flush() would leave into `out`, and into its model if there is one, and
  /// changes nothing else: for evaluation in the middle of training. `out` is another array. Collective.
  /// Async, as step(). Wire: at most one dense mean, in float32.
  void write_consensus(const ExecutionSpace& exec, const Vector<const float>& parameters,
                       const Parameters& out);

  /// Moves on messages that travel while the program computes: those of announced gradients, those of rounds
  /// of local_adam and local_muon with round_delay > 0 and, if the option `progress` is "poll", those of
  /// other background exchanges; does nothing if there are none. Call it between parts of the computation of
  /// a gradient, every millisecond or so. Waits for nothing.
  void progress();

  /// Lists everything that a continuation to the last bit needs, in place on this rank: valid until the next
  /// step, as long as parameters exist. Collective. Waits for exchanges that travel in the background.
  [[nodiscard]] StateFields state_to_save(const ExecutionSpace& exec, const Vector<float>& parameters);

  /// Restores a state that was saved, on any number of ranks: what ranks owed each other is conserved but for
  /// rounding. With the same algorithm, options and ranks, everything that follows is as if there had been no
  /// interruption, to the last bit. A state of another algorithm is taken over if its moments are those of
  /// mean gradients: a state of adam, lamb or muon, or of any other algorithm in a dense warm-up; both have
  /// to keep the same vectors, and muon, local_muon and low_rank_muon have no v of matrices.
  ///
  /// Writes parameters, and their model. Also restores what set() had set when the state was saved, for
  /// groups only where this optimizer has them too; after a state of another algorithm nothing is set.
  ///
  /// Collective. Waits for exec. Errors: std::runtime_error if the state is of
  /// another kind, or lacks something; then this optimizer must be made anew.
  void restore(const ExecutionSpace& exec, const Parameters& parameters, StateSource& source);

  /// Computes figures that say whether training goes well. Reads the whole state: not for every step.
  /// Collective.
  [[nodiscard]] Health health(const ExecutionSpace& exec);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const TensorLayout& layout() const { return at_->problem.layout; }
  [[nodiscard]] Communicator& communicator() { return *at_->communicator; }
  [[nodiscard]] const Communicator& communicator() const { return *at_->communicator; }
  /// The format that step() takes gradients in.
  [[nodiscard]] NumberFormat gradient_format() const { return at_->common.gradients; }
  [[nodiscard]] std::int64_t steps_taken() const { return at_->steps; }
  /// The number of steps that all ranks have skipped, and of those that single ranks have skipped, over all
  /// ranks (StepResult::skipped_alone).
  [[nodiscard]] std::int64_t steps_skipped() const { return skipped_; }
  /// Whether the parameters are equal on all ranks. If not, flush() makes them so.
  [[nodiscard]] bool is_synchronised() const { return synchronised_; }
  /// The seconds of each phase of the last step, if Phases::measure() has turned that on.
  [[nodiscard]] Phases& phases() { return at_->phases; }

  /// All options that it was made with, defaults included.
  [[nodiscard]] const OptionMap& options() const { return options_; }
  /// The groups that it was made with, as a text: equal for equal groups, empty without groups.
  [[nodiscard]] std::string groups_text() const;
  [[nodiscard]] const MemoryUse& memory() const { return at_->cost.memory; }
  /// The bytes that this rank sends in each phase, by class of traffic; without control traffic.
  [[nodiscard]] std::vector<PlannedTraffic> traffic_plan() const;
  /// The bytes that this rank sends in step 1, 2, ... of the run, if that step has this phase; all classes of
  /// traffic_plan() together.
  [[nodiscard]] std::size_t bytes_sent_in(std::int64_t step, std::string_view phase) const;
  /// How the optimizer was made, in pairs of a name and a value: algorithm, d, options, groups, tensors.
  /// Equal on all ranks, and on processes that may join them.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> made_with() const;
  /// Throws std::invalid_argument on every rank, with the first difference, unless made_with(), the length of
  /// pieces and the version of the messages' layout are equal on all ranks. Collective.
  void require_agreement();
  /// The number of coordinates that take no part in compression (0 before it starts).
  [[nodiscard]] std::int64_t inactive_elements() const { return algorithm_->inactive_elements(); }

 private:
  void require_extent(const char* what, std::size_t got, const std::string& label) const;
  void require_extents(const Parameters& parameters) const;
  void require_gradient(const Gradient& gradient) const;
  void require_format(const Gradient& gradient) const;
  void require_announced(const Gradient& gradient);
  void require_apart(const Parameters& parameters, const Gradient& gradient) const;
  [[nodiscard]] double next_learning_rate() const;
  void write_model(const ExecutionSpace& exec, const Parameters& parameters);
  /// The groups that follow from these settings. Errors: std::invalid_argument unless the algorithm can work
  /// with them, and the same tensors move as before.
  [[nodiscard]] ResolvedGroups groups_with(const Settings& settings) const;
  /// These settings as far as they may hold in the next step: without a new weight decay and new groups,
  /// unless Algorithm::may_set_groups().
  [[nodiscard]] Settings that_may_hold(Settings settings) const;
  /// Makes them the wanted settings. Errors: as groups_with().
  void want(const Settings& settings);
  /// Makes the wanted settings hold, as far as they may.
  void apply_settings();
  void hold(const Settings& next);
  /// Drops all settings, and makes a place for each group, which a state is read into.
  void forget_settings();
  /// Makes the settings hold that were read from a state. Errors: std::runtime_error if they do not fit.
  void adopt_settings(const StateSource& source, const Restoration& restoration);
  [[noreturn]] void refuse_different_settings(const Settings& settings);
  /// Adds the numbers of the state, which are equal on all ranks.
  void describe_numbers(StateFields& fields);
  [[nodiscard]] StateFields describe(const ExecutionSpace& exec, const Vector<float>& parameters,
                                     StateFields::Purpose purpose);
  void restore_vectors(const ExecutionSpace& exec, const Vector<float>& parameters, StateSource& source,
                       const StateFields& fields, bool takes_over);
  /// Sets result.gradient_norm to the norm of this rank's own gradient, which is finite exactly if the
  /// gradient is.
  void look_at_own_gradient(const ExecutionSpace& exec, const Gradient& gradient, StepResult& result);
  /// What ranks have told each other before a step, except what is in its result.
  struct Agreement {
    bool is_under_way = false;  ///< some rank has begun to exchange its gradient
    bool settings_are_equal = true;
    bool all_leave_out = false;
  };
  /// Exchanges norms and settings with all ranks; sets result.gradient_norm, skipped and raised. Collective.
  [[nodiscard]] Agreement agree_on_gradient(const ExecutionSpace& exec, const Gradient& gradient,
                                            const Settings& settings, StepResult& result);

  [[nodiscard]] std::int64_t elements() const { return at_->problem.elements(); }

  std::string name_;
  OptionMap options_;
  CommonOptions made_with_;
  std::function<void(const CommonOptions&)> validate_;
  Settings wanted_;
  std::unique_ptr<Workplace> at_;  ///< keeps its address when the Optimizer moves: algorithm_ refers to it
  std::unique_ptr<Algorithm> algorithm_;
  std::int64_t skipped_ = 0;
  std::uint32_t raised_ = 0;
  bool synchronised_ = true;    ///< the parameters are equal on all ranks
  bool state_is_dense_ = true;  ///< Algorithm::has_dense_state() of the state that was saved or read last
};

}  // namespace kadam
