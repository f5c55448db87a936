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

/// Equal where tensors have the same names and lengths in the same order: what tells a checkpoint to be of
/// another model.
[[nodiscard]] std::uint64_t hash_of(const TensorLayout& layout);

/// Bytes that this rank sends in the steps of one phase: at every step t with (t - after) mod every = 0.
struct PlannedTraffic {
  std::string phase;  ///< as in StepResult
  Traffic traffic = Traffic::dense;
  std::size_t bytes = 0;
  std::int64_t every = 1;
  std::int64_t after = 0;
};

/// Minimises a loss over n ranks: one object per rank, the same options on all.
///
/// Made by make_optimizer(), which gives it an Algorithm. Parameters are to be equal on all ranks before the
/// first step. After each step that says so (StepResult::synchronised) they are bitwise equal on all ranks.
/// Most algorithms synchronise at every step; zero_one_adam, divisible_adam and, with step_ahead > 0,
/// locally_accumulated_adam let each rank work at a point of its own in between. They keep the common one
/// themselves, from step 1 or from the end of the warm-up on: parameters are then written, never read.
class Optimizer final {
 public:
  /// What it is made with, beside its algorithm.
  struct Setup {
    std::string name;
    OptionMap options;  ///< all of them
    CommonOptions common;
    TensorLayout layout;
    std::shared_ptr<Communicator> communicator;
    /// Throws std::invalid_argument unless the algorithm can work with these.
    std::function<void(const CommonOptions&)> validate;
  };
  /// cost_of(problem) and make(workplace) are those of the algorithm. Collective: allocates, exchanges
  /// nothing.
  Optimizer(Setup setup, const std::function<AlgorithmCost(const Problem&)>& cost_of,
            const std::function<std::unique_ptr<Algorithm>(Workplace&)>& make);

  /// One step: parameters are updated in place from this rank's gradient (the mean over its own batch). If
  /// they come with a model in 16 bits, it is written as well: the rounded parameters, to the last bit.
  ///
  /// Collective: by all ranks. Async: kernels run on exec; wait for it before reading parameters on the host.
  /// The instance may change from call to call, of this and all other functions: whoever changes it waits for
  /// the old one first, since kernels of the last call may still use what the next one does.
  /// Shape: all have layout().elements() entries. Errors: std::invalid_argument for another extent, a
  /// gradient in another format than gradient_format(), or another View than gradient_ready() was given, and
  /// on all ranks where they have set different values (set()), or start from different parameters;
  /// std::out_of_range on all ranks past the end of a list of learning rates; PeerFailure where another rank
  /// cannot take the step or does not come; MpiError. A NaN or Inf in the gradient of any rank is no error:
  /// the step is skipped on all ranks, writes nothing and is counted.
  /// Wire: traffic_plan(), and (n - 1) 16 bytes of control: norm, raised bits and whether all have set the
  /// same, in the first step also the same parameters (shards that clip: 8 more); leave_out() adds to them.
  StepResult step(const ExecutionSpace& exec, const Parameters& parameters, const Gradient& gradient);

  /// Instead of step(), where this rank cannot take it: ends the step on all ranks. Theirs throws
  /// PeerFailure, that of local_adam and local_muon with nonfinite = "round" in the step of the next round,
  /// which this call then waits for. Nothing can be exchanged afterwards. What step() itself refuses, it ends
  /// so.
  void give_up_step() noexcept;
  /// What make() returns, who prepares a step; where it throws, the step is given up.
  template <class Make>
  auto prepare_step(const Make& make) {
    try {
      return make();
    } catch (...) {
      give_up_step();
      throw;
    }
  }

  /// Says during the backward pass that some elements of this rank's next gradient are final: once what is
  /// enqueued on exec is done they will not be written before step(). Where the next step takes the dense
  /// mean of the gradient (adam, lamb, warm-ups, variance steps), on several ranks in one level, what is
  /// complete is sent at once, and step() waits for the rest; elsewhere this does nothing. Results are the
  /// same to the last bit.
  ///
  /// Ranks may announce different parts, in any order, or nothing; but whoever does has to take a step next,
  /// with the same View, and until then nothing else may be exchanged over the communicator. Each call also
  /// moves on what earlier ones have started; background exchanges need progress(). Waits neither for exec
  /// nor for another rank: on a device, what exec has not finished leaves in a later call. Errors:
  /// std::invalid_argument as of step(), and for a range that is not in it.
  void gradient_ready(const ExecutionSpace& exec, const Gradient& gradient, const ElementRange& range);

  /// Says before a step that this rank has no gradient for these tensors, numbers in layout(); their part of
  /// the gradient is zeros. A tensor that all ranks name is left alone in that step, as by PyTorch: no
  /// momentum, no weight decay, and its bias corrections do not count the step. A tensor that some rank does
  /// not name has the mean gradient, to which this rank adds 0.
  ///
  /// By `adam`; other algorithms take the gradient as 0. It holds for one step, also one that is skipped,
  /// and takes the place of what was named for it before. Checkpoints keep how many steps each tensor was
  /// left out of. Errors: std::invalid_argument for a number that is none of a tensor. Wire: nothing unless
  /// all ranks name some; then (n - 1) 8 bytes of control per 52 tensors.
  void leave_out(std::span<const std::size_t> tensors);

  /// Sets options from the next step on, as in set({{"lr", 3e-4}}): "lr" (gamma of every step, in place of a
  /// schedule or a list), "weight_decay", "clip_norm". It holds until it is set again, checkpoints keep it,
  /// and options() goes on to say what the optimizer was made with.
  ///
  /// On all ranks the same, before the same step: else that step throws std::invalid_argument on all ranks,
  /// with both values, and leaves everything as it was. Of local_adam and local_muon with nonfinite = "round"
  /// it is the next round that throws; ranks have gone apart by then, and a checkpoint is what goes on.
  ///
  /// What has been sent already, or is owed, was made at the rates of its time: step sizes lie in what local
  /// rounds, zero_one_adam, efficient_adam, locally_accumulated_adam and divisible_adam send, not in
  /// gradients and momenta. Where ranks take steps of their own (zero_one_adam, local_adam, local_muon), a
  /// weight decay changes after the next synchronisation. Errors: std::invalid_argument for another option, a
  /// value below 0 or not finite, or one that this algorithm cannot work with, also not beside a weight decay
  /// that still holds; nothing is set then.
  void set(const OptionMap& values);
  /// The same of a parameter group that it was made with, by its pattern; no weight_decay: the optimizer's.
  /// lr_scale changes when a weight decay does. Errors: std::invalid_argument also if a tensor would begin to
  /// move or stop moving (lr_scale 0), which decides how it is exchanged: set the learning rate to 0 instead,
  /// or make the optimizer anew.
  void set_group(std::string_view tensors, double lr_scale, const std::optional<double>& weight_decay);
  /// What set() has set; nothing: as it was made.
  [[nodiscard]] const Settings& settings() const { return wanted_; }

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
  /// that of adam or lamb, or of any other in a dense warm-up. With the same algorithm, options and ranks all
  /// that follows is as if there had been no interruption, to the last bit.
  ///
  /// Writes parameters, and their model. What set() has set is as it was when the state was saved, of groups
  /// that there are here too; of another algorithm nothing is set. Errors: std::runtime_error if the state is
  /// of another kind, or lacks something; then this optimizer is to be made anew. Waits for exec.
  void restore(const ExecutionSpace& exec, const Parameters& parameters, StateSource& source);

  /// What can be known about whether training goes well. Reads the state; not meant for every step.
  /// Collective.
  [[nodiscard]] Health health(const ExecutionSpace& exec);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const TensorLayout& layout() const { return at_->problem.layout; }
  [[nodiscard]] Communicator& communicator() { return *at_->communicator; }
  [[nodiscard]] const Communicator& communicator() const { return *at_->communicator; }
  /// The format that step() takes gradients in.
  [[nodiscard]] NumberFormat gradient_format() const { return at_->common.gradients; }
  [[nodiscard]] std::int64_t steps_taken() const { return at_->steps; }
  [[nodiscard]] std::int64_t steps_skipped() const { return skipped_; }
  /// Whether the parameters are equal on all ranks. Else flush() delivers what ranks keep to themselves.
  [[nodiscard]] bool is_synchronised() const { return synchronised_; }
  /// Seconds of the last step per phase, if measured.
  [[nodiscard]] Phases& phases() { return at_->phases; }

  /// All options that it was made with, defaults included.
  [[nodiscard]] const OptionMap& options() const { return options_; }
  /// The groups that it was made with, as a text: equal for equal groups, empty without any.
  [[nodiscard]] std::string groups_text() const;
  [[nodiscard]] const MemoryUse& memory() const { return at_->cost.memory; }
  /// Everything that is sent, control traffic left out.
  [[nodiscard]] std::vector<PlannedTraffic> traffic_plan() const;
  /// What traffic_plan() says of step t = 1, 2, ... in this phase.
  [[nodiscard]] std::size_t bytes_sent_in(std::int64_t step, std::string_view phase) const;
  /// How it was made, by names of things: algorithm, d, options, groups, tensors. Equal on all ranks, and on
  /// ranks that can join them.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> made_with() const;
  /// Throws on every rank unless all ranks hold the same algorithm, tensors and options. Collective.
  void require_agreement();
  /// Coordinates that take no part in compression (0 before it starts).
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
  /// Throws unless they make sense, for tensors that move as they did.
  [[nodiscard]] ResolvedGroups groups_with(const Settings& settings) const;
  /// What of them may hold in the next step: groups wait where Algorithm::may_set_groups() says so.
  [[nodiscard]] Settings that_may_hold(Settings settings) const;
  void want(const Settings& settings);
  /// Makes what is wanted hold, as far as it may.
  void apply_settings();
  void hold(const Settings& next);
  /// Nothing is set, with a place for what a state has set of each group.
  void forget_settings();
  /// After those of a state were read.
  void adopt_settings(const StateSource& source, const Restoration& restoration);
  [[noreturn]] void refuse_different_settings(const Settings& settings);
  /// What all ranks have to have the same, by name.
  void describe_numbers(StateFields& fields);
  [[nodiscard]] StateFields describe(const ExecutionSpace& exec, const Vector<float>& parameters,
                                     StateFields::Purpose purpose);
  void restore_vectors(const ExecutionSpace& exec, const Vector<float>& parameters, StateSource& source,
                       const StateFields& fields, bool takes_over);
  /// Writes this rank's own norm, which is finite exactly when the gradient is.
  void look_at_own_gradient(const ExecutionSpace& exec, const Gradient& gradient, StepResult& result);
  /// What ranks have told each other before a step, beside what is in its result.
  struct Agreement {
    bool is_under_way = false;  ///< the exchange of the gradient, on some rank
    bool settings_are_equal = true;
    bool all_leave_out = false;
  };
  [[nodiscard]] Agreement agree_on_gradient(const ExecutionSpace& exec, const Gradient& gradient,
                                            const Settings& settings, StepResult& result);

  [[nodiscard]] std::int64_t elements() const { return at_->problem.elements(); }

  std::string name_;
  OptionMap options_;
  CommonOptions made_with_;
  std::function<void(const CommonOptions&)> validate_;
  Settings wanted_;
  std::unique_ptr<Workplace> at_;  ///< stays where it is when this moves
  std::unique_ptr<Algorithm> algorithm_;
  std::int64_t skipped_ = 0;
  std::uint32_t raised_ = 0;
  bool synchronised_ = true;    ///< the parameters are equal on all ranks
  bool state_is_dense_ = true;  ///< Algorithm::has_dense_state() of the state that was saved or read last
};

}  // namespace kadam
