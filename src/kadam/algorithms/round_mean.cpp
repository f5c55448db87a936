// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/round_mean.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/kernels/without_code.hpp>

#include <stdexcept>

namespace kadam {
namespace {

/// e <- e + u;  u <- 0
struct MoveInto {
  KOKKOS_FORCEINLINE_FUNCTION void operator()(float& u, float& e) const {
    e += u;
    u = 0.0F;
  }
};

struct ScaleResidual {
  float factor;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(float& e) const { e *= factor; }
};

struct AddResidual {
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& e, float& target) const { target += e; }
};

}  // namespace

void RoundMean::Options::describe(OptionFields& fields) {
  fields.add(
      "block", block, Range::at_least(0),
      "elements that share a scale (0: one scale per chunk); topk: elements from which it sends the largest");
  fields.add_choice<SignScale>("scale", scale, {{"rms", SignScale::rms}, {"mean_abs", SignScale::mean_abs}},
                               "scale of a block in 1-bit codes");
  std::vector<std::string> words = code_names();
  words.insert(words.begin(), "none");
  words.emplace_back("topk");
  describe_code(fields, code, words);
  fields.add("density", density, Range::above(0.0).up_to(1.0), "topk: fraction of the entries that is sent");
  fields.add("residual_decay", residual_decay, Range::at_least(0.0).up_to(1.0),
             "factor on the errors of the code after an exchange (0.95 suits topk)");
}

void RoundMean::Options::validate(std::string_view owner) const {
  require_option(code == SignQuantiser::name || scale == SignScale::rms, owner,
                 "option 'scale' is for 1-bit codes: leave it out, or set code = \"sign\"");
  require_option(!is_sparse() || (block >= 1 && block <= 4096), owner,
                 "option 'block': code = \"topk\" needs blocks of 1 to 4096 elements");
}

void RoundMean::Options::add(const Problem& problem, StepPhase& phase, MemoryUse& use) const {
  const auto add = [&](const Cost& cost, Hiding hiding) {
    phase.add(cost, hiding);
    use += cost.memory;
  };
  if (is_dense()) {
    phase.add(DenseMeanLayout(problem.ranks, problem.elements()).cost(), Hiding::nothing);
    return;
  }
  if (!is_sparse()) {
    GroupedMean::add(codec(), problem, phase, use);
    return;
  }
  add(SparseMeanLayout(sparse(), problem.elements(), problem.ranks.ranks, problem.ranks.rank)
          .cost(problem.threads),
      Hiding::nothing);
  add(dense_subset_cost(problem.ranks, problem.groups.dense), Hiding::nothing);
  use.state_bytes += problem.vectors(1);
}

void RoundMean::Options::add(const Problem& problem, StepPhase& start, StepPhase& arrival, std::int64_t steps,
                             MemoryUse& use) const {
  use.state_bytes += problem.vectors(1);
  PlannedExchange travelling;
  travelling.hiding = Hiding::background;
  travelling.wanted_after = steps;
  if (!is_dense()) {
    GroupedMean::add(codec(), problem, start, arrival, travelling, use);
    return;
  }
  const Cost mean = background_mean_cost(problem.ranks, problem.elements());
  start.add(mean, travelling);
  // The result is state.
  use.workspace_bytes += mean.memory.workspace_bytes - problem.vectors(1);
}

RoundMean::RoundMean(const ExecutionSpace& exec, const Options& options,
                     const std::shared_ptr<Communicator>& communicator, std::int64_t elements,
                     const ResolvedGroups& groups, Travels travels)
    : options_(options),
      is_grouped_(!options.is_dense() && !options.is_sparse()),
      places_(communicator->arrangement().places) {
  dense_ = DenseMean(exec, *communicator, elements);
  if (is_grouped_) {
    grouped_ =
        GroupedMean(exec, options.codec(), *communicator, elements, groups, still_or_kept_dense(groups));
  } else if (options.is_sparse()) {
    kept_ = DenseSubset(exec, *communicator, groups.dense);
    sparse_ = SparseMean(exec, options.sparse(), elements, *communicator);
    residual_ = allocate_zeros<float>(exec, "kadam::RoundMean::residual", elements);
  }
  if (travels == Travels::at_once) return;
  if (options.is_dense()) {
    background_ =
        BackgroundMean(exec, communicator, ChunkLayout(elements, communicator->size()), Progress::poll);
    arriving_ = background_.settled(exec);
  } else {
    arriving_ = allocate_zeros<float>(exec, "kadam::RoundMean::arriving", elements);
  }
}

void RoundMean::exchange(const Step& step, const Vector<float>& u, const Outer& outer) {
  if (options_.is_dense()) {
    exchange_all(step, u, outer);
  } else if (options_.is_sparse()) {
    exchange_largest(step, u, outer);
  } else {
    exchange_grouped(step, u, outer);
  }
  if (options_.residual_decay < 1.0) {
    scale_errors(step.exec, static_cast<float>(options_.residual_decay));
  }
}

void RoundMean::exchange_all(const Step& step, const Vector<float>& u, const Outer& outer) {
  const Vector<const float> mean = dense_(step.exec, step.phases, u);
  const auto scope = step.enter(Phase::decode);
  update_by_mean(step.exec, outer, 1.0F, mean);
}

void RoundMean::exchange_grouped(const Step& step, const Vector<float>& u, const Outer& outer) {
  grouped_.exchange_kept(step, ElementOf<MemorySpace>{u});
  grouped_.exchange(step, u, [&](const ElementRange& arrived) { grouped_.decode(step, arrived, outer); });
  grouped_.decode_kept(step, outer);
}

void RoundMean::exchange_largest(const Step& step, const Vector<float>& u, const Outer& outer) {
  {
    const auto scope = step.enter(Phase::encode);
    for_each_element("kadam::RoundMean::move_into", step.exec, static_cast<std::int64_t>(u.extent(0)),
                     MoveInto{}, updates(u), updates(residual_));
  }
  kept_.exchange(step.exec, step.phases, ElementOf<MemorySpace>{residual_});
  kept_.decode(step.exec, DeliverWhole{u, residual_});
  sparse_.deliver(step.exec, step.phases, residual_, u);
  const auto scope = step.enter(Phase::decode);
  update_by_mean(step.exec, outer, -1.0F, Vector<const float>(u));
}

void RoundMean::start(const Step& step, const Vector<float>& u) {
  is_under_way_ = true;
  if (options_.is_dense()) {
    const auto scope = step.enter(Phase::exchange);
    background_.start(step.exec, u);
    return;
  }
  grouped_.exchange_kept(step, ElementOf<MemorySpace>{u});
  grouped_.decode_kept(step, WriteElement<MemorySpace>{arriving_});
  grouped_.start(step, u);
}

void RoundMean::poll() {
  if (!is_under_way_) return;
  if (options_.is_dense()) {
    background_.poll();
  } else {
    grouped_.compressed().poll();
  }
}

const Vector<float>& RoundMean::arriving(const ExecutionSpace& exec, Phases& phases) {
  // Empty where a state of travelling rounds is read, and rounds do not travel here.
  if (arriving_.extent(0) == 0) {
    arriving_ = allocate_zeros<float>(exec, "kadam::RoundMean::arriving", dense_.layout().elements());
  }
  if (!is_under_way_) return arriving_;
  is_under_way_ = false;
  if (options_.is_dense()) {
    const auto scope = phases.enter(exec, Phase::exchange);
    (void)background_.mean(exec);
    return arriving_;
  }
  grouped_.compressed().finish(exec, phases);
  const auto scope = phases.enter(exec, Phase::decode);
  grouped_.compressed().write_mean(exec, grouped_.active(), arriving_);
  if (options_.residual_decay < 1.0) scale_errors(exec, static_cast<float>(options_.residual_decay));
  return arriving_;
}

void RoundMean::scale_errors(const ExecutionSpace& exec, float factor) const {
  if (is_grouped_) grouped_.compressed().scale_errors(exec, factor);
  if (residual_.extent(0) == 0) return;
  for_each_element("kadam::RoundMean::scale_errors", exec, static_cast<std::int64_t>(residual_.extent(0)),
                   ScaleResidual{factor}, updates(residual_));
}

void RoundMean::add_owed(const ExecutionSpace& exec, const Vector<float>& target) const {
  if (is_grouped_) grouped_.compressed().add_owed(exec, target);
  if (residual_.extent(0) == 0) return;
  for_each_element("kadam::RoundMean::add_owed", exec, static_cast<std::int64_t>(residual_.extent(0)),
                   AddResidual{}, reads(residual_), updates(target));
}

void RoundMean::require_own_errors() const {
  if (places_ == 1 || !is_grouped_) return;
  throw std::invalid_argument(
      "option 'step_ahead': in two levels the errors of the code belong to a node, not to a rank: leave the "
      "option out, or exchange in one level");
}

const Vector<float>& RoundMean::own_errors() const {
  return is_grouped_ ? grouped_.compressed().worker_error() : residual_;
}

void RoundMean::describe_state(const ExecutionSpace& exec, StateFields& fields) const {
  if (is_grouped_) grouped_.compressed().describe_state(exec, fields);
  if (residual_.extent(0) > 0) fields.of_each_rank("residual", residual_, StateVector::IfMissing::zero);
}

}  // namespace kadam
