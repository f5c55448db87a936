// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/muon.hpp>

namespace kadam {

void Muon::Options::describe_matrices(OptionFields& fields, std::string& matrices) {
  fields.add(
      "matrices", matrices,
      "matrices that follow their orthogonalised momentum: all, or patterns of names, separated by commas");
}

void Muon::Options::describe(OptionFields& fields) {
  common.describe(fields);
  describe_matrices(fields, matrices);
}

AlgorithmCost Muon::cost(const Options& options, const Problem& problem) {
  const SpectralTensors tensors = SpectralTensors::named(options.matrices, problem.layout, problem.groups);
  AlgorithmCost cost;
  cost.phases = {dense_phase("dense", options.common, problem, adam_kernel(options.common))};
  MuonDirection::add_work(tensors, cost.phases.back());
  cost.memory = DenseMeanLayout(problem.ranks, problem.elements(), options.common.gradients).cost().memory;
  cost.memory += MuonDirection::memory(tensors, problem);
  return cost;
}

Muon::Muon(const Options& options, Workplace& at) : Algorithm(at) {
  const ExecutionSpace exec;
  direction_ = MuonDirection(exec, SpectralTensors::named(options.matrices, layout(), groups()), elements(),
                             communicator());
  mean_ = DenseMean(exec, communicator(), elements(), common().gradients);
  exec.fence("kadam::Muon");
}

void Muon::advance(Step& step) {
  const Gradient g = step.mean_gradient(mean_);
  const auto scope = step.enter(Phase::decode);
  step.result.gradient_scale = clip_factor_of(step.exec, g);
  direction_.advance(step, g, MuonDirection::of_parameters, step.x());
}

void Muon::describe_state(const ExecutionSpace& /*exec*/, StateFields& fields) {
  direction_.describe_state(fields);
}

}  // namespace kadam
