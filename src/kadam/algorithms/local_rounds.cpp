// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/local_rounds.hpp>
#include <kadam/algorithms/muon.hpp>
#include <kadam/kernels/local_rounds.hpp>

#include <algorithm>
#include <array>
#include <cmath>
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
  fields.add_choice("preset", preset, words, "options that make it a published algorithm");
  fields.add("sync_interval", sync_interval, Range::at_least(1),
             "steps that ranks take alone before a round");
  mean.describe(fields);
  fields.add("outer_lr", outer_lr, Range::at_least(0.0), "of the step that a round takes");
  fields.add("outer_momentum", outer_momentum, Range::at_least(0.0).below(1.0), "Nesterov's, of rounds");
  fields.add("step_ahead", step_ahead, Range::at_least(0.0).up_to(1.0),
             "part of what its code owes that a rank works ahead by");
  fields.add_choice<bool>("nonfinite", agrees_each_step, {{"round", false}, {"each_step", true}},
                          "when ranks hear of a NaN or Inf, and of signals");
  add_variance(fields, variance);
  if (!matrices.empty()) Muon::Options::describe_matrices(fields, matrices);
}

void LocalRounds::Options::validate(std::string_view owner) const {
  mean.validate(owner);
  const double largest = *std::max_element(common.learning_rate.lr.begin(), common.learning_rate.lr.end());
  require_option(largest * static_cast<double>(sync_interval) * common.weight_decay < 1.0, owner,
                 "options 'lr', 'weight_decay', 'sync_interval': expected a product below 1, or the weights "
                 "decay to nothing within a round");
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
  local.add({cost::check, problem.all()});
  local.add({cost::local_step, problem.all()});
  MuonDirection::add_work(tensors, local);
  StepPhase round = local;
  round.name = "round";
  round.add({cost::check, problem.all()});
  round.add({cost::scale, (has_outer_momentum ? 2.5 : 1.5) * problem.all()});
  options.mean.add(problem, round, cost.memory);
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
  local.count = part(1.0 - 1.0 / interval);
  round.count = part(1.0 / interval);
  cost.phases = {std::move(local), std::move(round)};
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
  mean_ = RoundMean(exec, options.mean, communicator(), elements(), groups());
  x_ = allocate<float>(exec, "kadam::LocalRounds::x", elements());
  u_ = allocate_zeros<float>(exec, "kadam::LocalRounds::u", elements());
  if (options.outer_momentum > 0.0) o_ = allocate_zeros<float>(exec, "kadam::LocalRounds::o", elements());
  if (options.step_ahead > 0.0) mean_.require_own_errors();
  exec.fence("kadam::LocalRounds");
}

void LocalRounds::advance(Step& step) {
  if (step.t == 1) Kokkos::deep_copy(step.exec, x_, step.x());
  local_step(step);
  step.result.synchronised = step.t % options_.sync_interval == 0;
  if (!step.result.synchronised) {
    write_working(step.exec, step.x());
    return;
  }
  const bool is_finite = agree(step);
  if (is_finite && gamma_sum_ > 0.0) {
    round(step);
  } else {
    Kokkos::deep_copy(step.exec, u_, 0.0F);
    Kokkos::deep_copy(step.exec, step.x(), x_);
  }
  gamma_sum_ = 0.0;
}

void LocalRounds::local_step(Step& step) {
  const auto scope = step.enter(Phase::encode);
  step.result.phase = "local";
  gamma_sum_ += step.gamma();
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
  const std::array<double, 3> own = {own_is_finite ? 0.0 : 1.0,
                                     static_cast<double>(std::exchange(skipped_alone_, 0)),
                                     static_cast<double>(std::exchange(step.raised, 0))};
  communicator().settle();
  const std::vector<double> all = communicator().all_gather_values(own);
  bool is_finite = true;
  for (std::size_t k = 0; k < all.size(); k += own.size()) {
    is_finite = is_finite && all[k] == 0.0;
    step.result.skipped_alone += static_cast<std::int64_t>(all[k + 1]);
    step.result.raised |= static_cast<std::uint32_t>(all[k + 2]);
  }
  if (!is_finite) ++step.result.skipped_alone;
  return is_finite;
}

void LocalRounds::round(const Step& step) {
  step.result.phase = "round";
  const OuterStep<MemorySpace> outer{static_cast<float>(options_.outer_lr),
                                     static_cast<float>(options_.outer_momentum),
                                     x_,
                                     o_,
                                     u_,
                                     step.x()};
  mean_.exchange(step, u_,
                 UpdateBySegment<MemorySpace, DecayedParametersOf, OuterStep<MemorySpace>>{decayed(), outer});
  direction_.average_variance(step.exec, step.phases);
}

BySegment<MemorySpace, DecayedParametersOf> LocalRounds::decayed() const {
  return {segments(), {gamma_sum_, 1.0F, static_cast<float>(options_.step_ahead * options_.outer_lr)}};
}

void LocalRounds::write_working(const ExecutionSpace& exec, const Vector<float>& out) const {
  const auto scope = phases().enter(exec, Phase::decode);
  if (options_.step_ahead > 0.0 && mean_.own_errors().extent(0) > 0) {
    write_local_parameters_ahead<ExecutionSpace, MemorySpace>(exec, decayed(), x_, u_, mean_.own_errors(),
                                                              out);
  } else {
    write_local_parameters<ExecutionSpace, MemorySpace>(exec, decayed(), x_, u_, out);
  }
}

void LocalRounds::consensus(const ExecutionSpace& exec, const Vector<const float>& /*parameters*/,
                            const Vector<float>& out) {
  Kokkos::deep_copy(exec, out, u_);
  mean_.add_owed(exec, out);
  const Vector<const float> mean = mean_.exact(exec, phases(), out);
  auto rule = decayed();
  rule.rule_of.step = static_cast<float>(options_.outer_lr);
  write_local_parameters<ExecutionSpace, MemorySpace>(exec, rule, x_, mean, out);
}

void LocalRounds::deliver_all(const ExecutionSpace& exec, const Vector<float>& parameters) {
  consensus(exec, parameters, parameters);
  Kokkos::deep_copy(exec, x_, parameters);
  Kokkos::deep_copy(exec, u_, 0.0F);
  mean_.forget_owed(exec);
  gamma_sum_ = 0.0;
}

void LocalRounds::describe_state(const ExecutionSpace& /*exec*/, StateFields& fields) {
  fields.number("gamma_sum", gamma_sum_);
  fields.common_parameters(x_);
  direction_.describe_own_state(fields);
  fields.of_each_rank("u", u_, StateVector::IfMissing::zero);
  if (o_.extent(0) > 0) fields.equal("outer_momentum", o_, StateVector::IfMissing::zero);
  mean_.describe_state(fields);
}

void LocalRounds::add_health(const ExecutionSpace& exec, Health& health) {
  if (mean_.grouped() != nullptr && steps_taken() >= options_.sync_interval) {
    health.error_ratio = error_ratio(exec, *mean_.grouped());
  }
  health.variance_spread = spread_over_ranks(direction_.sum_of_variance(exec, sum_space()));
}

}  // namespace kadam
