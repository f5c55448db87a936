// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/low_rank_muon.hpp>
#include <kadam/algorithms/muon.hpp>

#include <utility>

namespace kadam {

void LowRankMuon::Options::describe(OptionFields& fields) {
  common.describe(fields);
  Muon::Options::describe_matrices(fields, matrices);
  fields.add("rank", rank, Range::at_least(1),
             "columns of a factor; never more than the shorter side of its matrix");
  fields.add("factor_bits", factor_bits, "bits of an element of a factor: 4, 8 or 32");
  fields.add("seed", seed, Range::at_least(0), "seed of the first columns of the factors");
}

void LowRankMuon::Options::validate(std::string_view owner) const {
  require_option(factor_bits == 4 || factor_bits == 8 || factor_bits == 32, owner,
                 "option 'factor_bits': expected 4, 8 or 32");
}

AlgorithmCost LowRankMuon::cost(const Options& options, const Problem& problem) {
  const SpectralTensors tensors = SpectralTensors::named(options.matrices, problem.layout, problem.groups);
  const Cost mean =
      LowRankMeanLayout(problem.ranks, options.low_rank(), problem.layout, problem.groups.dense).cost();
  StepPhase phase;
  phase.name = "compressed";
  phase.add({cost::check, problem.all()});
  phase.add(mean, Hiding::nothing);
  phase.add({cost::adam_update, problem.all()});
  MuonDirection::add_work(tensors, phase);
  AlgorithmCost cost{{std::move(phase)}, mean.memory};
  cost.memory += MuonDirection::memory(tensors, problem);
  return cost;
}

LowRankMuon::LowRankMuon(const Options& options, Workplace& at) : Algorithm(at) {
  const ExecutionSpace exec;
  direction_ = MuonDirection(exec, SpectralTensors::named(options.matrices, layout(), groups()), elements(),
                             communicator());
  mean_ = LowRankMean(exec, options.low_rank(), communicator(), layout(), groups().dense);
  exec.fence("kadam::LowRankMuon");
}

void LowRankMuon::advance(Step& step) {
  step.result.phase = "compressed";
  const double scale = clip_factor(step.result.gradient_norm);
  const Vector<const float> g = mean_(step.exec, step.phases, step.gradient, static_cast<float>(scale));
  {
    const auto scope = step.enter(Phase::decode);
    direction_.advance(step, g, MuonDirection::of_parameters, step.x());
  }
  step.result.gradient_scale = scale;  // not earlier: advance() would scale g a second time
}

void LowRankMuon::describe_state(const ExecutionSpace& exec, StateFields& fields) {
  direction_.describe_state(fields);
  mean_.describe_state(exec, fields);
}

void LowRankMuon::adopt_state(const ExecutionSpace& exec, const StateFields& fields,
                              const Restoration& /*restoration*/) {
  mean_.adopt_state(exec, fields);
}

void LowRankMuon::add_health(const ExecutionSpace& exec, Health& health) {
  health.error_ratio = owed_ratio(mean_.squared_error(exec, sum_space()), squared_norm(exec, mean_.mean()));
}

}  // namespace kadam
