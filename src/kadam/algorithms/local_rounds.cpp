// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/local_rounds.hpp>
#include <kadam/algorithms/muon.hpp>
#include <kadam/algorithms/notices.hpp>
#include <kadam/kernels/local_rounds.hpp>
#include <kadam/kernels/without_code.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <variant>

namespace kadam {

namespace {

void choose_diloco(LocalRounds::Options& options) {
  options.sync_interval = 100;
  options.mean.code = "none";
  options.outer_lr = 0.7;
  options.outer_momentum = 0.9;
  options.variance = Variance::own;
}

void choose_sparse_loco(LocalRounds::Options& options) {
  options.sync_interval = 30;
  options.mean.code = "topk";
  options.mean.residual_decay = 0.95;
  options.variance = Variance::own;
}

void choose_mu_loco(LocalRounds::Options& options) {
  options.sync_interval = 30;
  options.mean.code = "uniform4";
  options.outer_lr = 0.7;
  options.outer_momentum = 0.6;
}

}  // namespace

LocalRounds::LocalAdam::LocalAdam() {
  variance = Variance::factored;
  presets = {{"diloco", choose_diloco}, {"sparse_loco", choose_sparse_loco}};
}

LocalRounds::LocalMuon::LocalMuon() {
  matrices = "all";
  presets = {{"mu_loco", choose_mu_loco}};
}

void LocalRounds::Options::choose_preset(const OptionMap& values) {
  const auto found = values.find("preset");
  const std::string* const name = found == values.end() ? nullptr : std::get_if<std::string>(&found->second);
  if (name == nullptr) return;
  for (const Preset& one : presets) {
    if (one.name == *name) one.choose(*this);
  }
}

void LocalRounds::Options::describe(OptionFields& fields) {
  common.describe(fields);
  std::vector<std::string> words = {"none"};
  for (const Preset& one : presets) words.push_back(one.name);
  fields.add_choice("preset", preset, words, "sets the options of a published algorithm");
  fields.add("sync_interval", sync_interval, Range::at_least(1),
             "steps that ranks take alone before a round");
  mean.describe(fields);
  fields.add("outer_lr", outer_lr, Range::at_least(0.0), "learning rate of the step that a round takes");
  fields.add("outer_momentum", outer_momentum, Range::at_least(0.0).below(1.0),
             "Nesterov momentum of the steps that rounds take");
  fields.add("step_ahead", step_ahead, Range::at_least(0.0).up_to(1.0),
             "fraction of its code's errors that a rank applies in advance; in one level only");
  fields.add("round_delay", round_delay, Range::at_least(0),
             "steps that a round travels while the ranks go on computing (0: they wait for it)");
  fields.add_choice<bool>("nonfinite", agrees_each_step, {{"round", false}, {"each_step", true}},
                          "when ranks learn of a NaN or Inf on another rank, and of signals");
  add_variance(fields, variance);
  if (!matrices.empty()) Muon::Options::describe_matrices(fields, matrices);
}

void LocalRounds::Options::validate(std::string_view owner) const {
  mean.validate(owner);
  require_option(round_delay < sync_interval, owner,
                 "option 'round_delay': a round must arrive before the next one starts: give fewer steps "
                 "than 'sync_interval'");
  require_option(round_delay == 0 || !mean.is_sparse(), owner,
                 "option 'round_delay' does not work with code = \"topk\": choose another code, or leave the "
                 "option out");
  require_option(round_delay == 0 || step_ahead == 0.0, owner,
                 "options 'round_delay' and 'step_ahead': the errors of the code are not known while a round "
                 "travels: give only one of the two");
  const double largest = *std::max_element(common.learning_rate.lr.begin(), common.learning_rate.lr.end());
  const auto steps = static_cast<double>(sync_interval + round_delay);
  require_option(largest * steps * common.weight_decay < 1.0, owner,
                 "options 'lr', 'weight_decay', 'sync_interval': expected lr * weight_decay * (sync_interval "
                 "+ round_delay) below 1, else the weights decay to nothing within a round");
}

SpectralTensors LocalRounds::Options::tensors(const TensorLayout& layout,
                                              const ResolvedGroups& groups) const {
  return matrices.empty() ? SpectralTensors::none(layout, groups)
                          : SpectralTensors::named(matrices, layout, groups);
}

AlgorithmCost LocalRounds::cost(const Options& options, const Problem& problem) {
  const SpectralTensors tensors = options.tensors(problem.layout, problem.groups);
  const bool has_outer_momentum = options.outer_momentum > 0.0;
  AlgorithmCost cost;
  StepPhase local;
  local.name = "local";
  local.agrees = options.agrees_each_step;
  local.add({cost::check, problem.all()});
  local.add({cost::local_step, problem.all()});
  MuonDirection::add_work(tensors, local);
  StepPhase round = local;
  round.name = "round";
  round.agrees = true;
  round.add({cost::check, problem.all()});
  StepPhase arrival = local;
  arrival.name = "arrival";
  const bool is_delayed = options.round_delay > 0;
  (is_delayed ? arrival : round).add({cost::scale, (has_outer_momentum ? 2.5 : 1.5) * problem.all()});
  if (is_delayed) {
    options.mean.add(problem, round, arrival, options.round_delay, cost.memory);
    cost.memory.state_bytes += problem.vectors(1);
  } else {
    options.mean.add(problem, round, cost.memory);
  }
  if (options.variance == Variance::factored) {
    round.add(FactoredVariance::cost(tensors.other_tensors, problem.ranks, problem.threads), Hiding::nothing);
    for (const Work& work : FactoredVariance::work_of_average(tensors.other_tensors)) round.add(work);
  }
  const auto interval = static_cast<double>(options.sync_interval);
  const auto part = [](double fraction) {
    return [fraction](std::int64_t steps) {
      const double count = fraction * static_cast<double>(steps);
      return StepCount{count, count};
    };
  };
  local.count = part(1.0 - (is_delayed ? 2.0 : 1.0) / interval);
  round.count = part(1.0 / interval);
  arrival.count = round.count;
  cost.phases = {std::move(local), std::move(round)};
  if (is_delayed) cost.phases.push_back(std::move(arrival));
  cost.memory += MuonDirection::memory(tensors, problem, options.variance);
  cost.memory += {problem.vectors(has_outer_momentum ? 3 : 2), 0};
  cost.memory.workspace_bytes +=
      DenseMeanLayout(problem.ranks, problem.elements()).cost().memory.workspace_bytes;
  return cost;
}

LocalRounds::LocalRounds(const Options& options, Workplace& at) : Algorithm(at), options_(options) {
  const ExecutionSpace exec;
  direction_ =
      MuonDirection(exec, options.tensors(layout(), groups()), elements(), communicator(), options.variance);
  using enum RoundMean::Travels;
  mean_ = RoundMean(exec, options.mean, shared_communicator(), elements(), groups(),
                    options.round_delay > 0 ? in_background : at_once);
  x_ = allocate<float>(exec, "kadam::LocalRounds::x", elements());
  u_ = allocate_zeros<float>(exec, "kadam::LocalRounds::u", elements());
  if (options.outer_momentum > 0.0) o_ = allocate_zeros<float>(exec, "kadam::LocalRounds::o", elements());
  if (options.round_delay > 0) {
    sent_ = allocate_zeros<float>(exec, "kadam::LocalRounds::sent", elements());
    // A round that travels has staging memory beside that of other exchanges.
    if (!options.mean.is_dense())
      cost_here().memory.workspace_bytes += communicator().across().staging_bytes();
  }
  if (options.step_ahead > 0.0) mean_.require_own_errors();
  exec.fence("kadam::LocalRounds");
}

void LocalRounds::advance(Step& step) {
  if (step.t == 1) Kokkos::deep_copy(step.exec, x_, step.x());
  if (options_.round_delay > 0) mean_.prepare_start();
  local_step(step);
  mean_.poll();
  const bool is_round = step.t % options_.sync_interval == 0;
  if (is_in_flight() && (step.t >= arrives_at_ || is_round)) {
    step.result.phase = "arrival";
    arrive(step.exec, step.x());
  }
  step.result.synchronised = is_round;
  if (!is_round) {
    write_working(step.exec, step.x());
    return;
  }
  const bool is_finite = agree(step);
  if (!is_finite || gamma_sum_ == 0.0) {
    Kokkos::deep_copy(step.exec, u_, 0.0F);
    Kokkos::deep_copy(step.exec, step.x(), x_);
  } else if (options_.round_delay > 0) {
    depart(step);
  } else {
    round(step);
  }
  gamma_sum_ = 0.0;
}

void LocalRounds::local_step(Step& step) {
  const auto scope = step.enter(Phase::encode);
  step.result.phase = "local";
  gamma_sum_ += step.gamma();
  settings_of_round_ = step.settings.fingerprint_after(settings_of_round_);
  if (!step.is_finite) {
    ++skipped_alone_;
    return;
  }
  step.result.gradient_scale = clip_factor(step.result.gradient_norm);
  direction_.advance(step, step.gradient, MuonDirection::of_accumulated_steps, u_);
}

bool LocalRounds::agree(Step& step) {
  const auto scope = step.enter(Phase::check);
  const bool own_is_finite = std::isfinite(squared_norm(step.exec, u_));
  // The sign says whether the sum is finite.
  const auto skipped = static_cast<double>(std::exchange(skipped_alone_, 0));
  const Notice own{std::copysign(skipped, own_is_finite ? 1.0 : -1.0), std::exchange(step.raised, 0),
                   settings_of_round_ >> 12U};
  communicator().settle();
  const Notices all = exchange_notices(communicator(), own);
  step.result.raised |= all.raised;
  if (!all.settings_are_equal) {
    step.raised |= own.raised;
    refuse_different_settings(step);
  }
  bool is_finite = true;
  for (const double of_rank : all.numbers) {
    is_finite = is_finite && !std::signbit(of_rank);
    step.result.skipped_alone += static_cast<std::int64_t>(std::fabs(of_rank));
  }
  settings_of_round_ = 0;
  if (!is_finite) ++step.result.skipped_alone;
  return is_finite;
}

void LocalRounds::refuse_different_settings(const Step& step) const {
  const std::string owner = "kadam::Optimizer";
  step.settings.require_equal(communicator(), owner, common().groups);
  throw std::invalid_argument(
      owner +
      ": ranks have set values before different steps of a round, or started from different parameters: set "
      "the same values before the same step, and start all ranks from one seed");
}

void LocalRounds::round(const Step& step) {
  step.result.phase = "round";
  mean_.exchange(step, u_, outer_step(gamma_sum_, u_, step.x()));
  direction_.average_variance(step.exec, step.phases);
}

void LocalRounds::depart(const Step& step) {
  step.result.phase = "round";
  step.result.synchronised = step.communicator.size() == 1;
  std::swap(u_, sent_);
  Kokkos::deep_copy(step.exec, u_, 0.0F);
  gamma_sent_ = std::exchange(gamma_sum_, 0.0);
  arrives_at_ = step.t + options_.round_delay;
  mean_.start(step, sent_);
  direction_.average_variance(step.exec, step.phases);
  write_working(step.exec, step.x());
}

void LocalRounds::arrive(const ExecutionSpace& exec, const Vector<float>& parameters) {
  const Vector<const float> mean = mean_.arriving(exec, phases());
  const auto scope = phases().enter(exec, Phase::decode);
  update_by_mean(exec, outer_step(gamma_sent_, sent_, parameters), 1.0F, mean);
  gamma_sent_ = 0.0;
  arrives_at_ = 0;
}

OuterFactorsOf LocalRounds::outer_factors(double gamma_sum) const {
  return {gamma_sum, static_cast<float>(options_.outer_lr), static_cast<float>(options_.outer_momentum)};
}

RoundMean::Outer LocalRounds::outer_step(double gamma_sum, const Vector<float>& steps,
                                         const Vector<float>& parameters) const {
  return {{segments(), outer_factors(gamma_sum)}, {x_, o_, steps, parameters}};
}

void LocalRounds::write_working(const ExecutionSpace& exec, const Vector<float>& out) const {
  const auto scope = phases().enter(exec, Phase::decode);
  auto rule = decayed(gamma_sum_ + gamma_sent_);
  const auto without = [&](const Vector<float>& more) {
    write_local_parameters_ahead<ExecutionSpace, MemorySpace>(exec, rule, x_, u_, more, out);
  };
  if (is_in_flight()) {
    rule.rule_of.ahead = 1.0F;
    without(sent_);
  } else if (options_.step_ahead > 0.0 && mean_.own_errors().extent(0) > 0) {
    without(mean_.own_errors());
  } else {
    write_local_parameters<ExecutionSpace, MemorySpace>(exec, rule, x_, u_, out);
  }
}

void LocalRounds::consensus(const ExecutionSpace& exec, const Vector<const float>& /*parameters*/,
                            const Vector<float>& out) {
  // First, because the arrival changes the errors that add_owed() adds.
  Vector<const float> arriving;
  if (is_in_flight()) arriving = mean_.arriving(exec, phases());
  Kokkos::deep_copy(exec, out, u_);
  mean_.add_owed(exec, out);
  const Vector<const float> mean = mean_.exact(exec, phases(), out);
  if (is_in_flight()) {
    const InFlightFactorsOf factors{outer_factors(gamma_sent_), gamma_sum_};
    update_by_mean(exec,
                   UpdateBySegment<MemorySpace, InFlightFactorsOf, AfterOuterStep<MemorySpace>>{
                       {segments(), factors}, {{x_, o_, sent_, out}, mean, out}},
                   1.0F, arriving);
    return;
  }
  auto rule = decayed(gamma_sum_);
  rule.rule_of.step = static_cast<float>(options_.outer_lr);
  write_local_parameters<ExecutionSpace, MemorySpace>(exec, rule, x_, mean, out);
}

void LocalRounds::deliver_all(const ExecutionSpace& exec, const Vector<float>& parameters) {
  if (is_in_flight()) arrive(exec, parameters);
  consensus(exec, parameters, parameters);
  Kokkos::deep_copy(exec, x_, parameters);
  Kokkos::deep_copy(exec, u_, 0.0F);
  mean_.forget_owed(exec);
  gamma_sum_ = 0.0;
}

void LocalRounds::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  fields.number("gamma_sum", gamma_sum_);
  fields.number("gamma_sent", gamma_sent_);
  fields.number("arrives_at", arrives_at_);
  fields.common_parameters(x_);
  direction_.describe_own_state(fields);
  fields.of_each_rank("u", u_, StateVector::IfMissing::zero);
  if (o_.extent(0) > 0) fields.equal("outer_momentum", o_, StateVector::IfMissing::zero);
  if (is_in_flight()) {
    // The state may be that of a run with another delay.
    if (sent_.extent(0) == 0) sent_ = allocate<float>(exec, "kadam::LocalRounds::sent", elements());
    fields.of_each_rank("sent", sent_);
    fields.equal("arriving", mean_.arriving(exec, phases()));
  }
  mean_.describe_state(exec, fields);
}

void LocalRounds::adopt_state(const ExecutionSpace& /*exec*/, const StateFields& /*fields*/,
                              const Restoration& restoration) {
  settings_of_round_ = 0;
  if (!restoration.of_other_algorithm) return;
  gamma_sum_ = 0.0;
  gamma_sent_ = 0.0;
  arrives_at_ = 0;
}

void LocalRounds::add_health(const ExecutionSpace& exec, Health& health) {
  if (is_in_flight()) (void)mean_.arriving(exec, phases());
  if (mean_.grouped() != nullptr && steps_taken() >= options_.sync_interval) {
    health.error_ratio = error_ratio(exec, *mean_.grouped());
  }
  health.variance_spread = spread_over_ranks(direction_.sum_of_variance(exec, sum_space()));
}

}  // namespace kadam
