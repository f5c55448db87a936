// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/lamb.hpp>

namespace kadam {
namespace {

LambTensors<MemorySpace> allocate_tensors(const TensorTiles<MemorySpace>& tiles) {
  const auto tensors = static_cast<std::size_t>(tiles.tensor_count());
  return {Vector<float>("kadam::DenseLambStep::lr_scale", tensors),
          Vector<float>("kadam::DenseLambStep::lambda", tensors),
          Vector<float>("kadam::DenseLambStep::trust_ratio", tensors),
          Vector<double>("kadam::DenseLambStep::partial", 2 * static_cast<std::size_t>(tiles.tile_count()))};
}

void copy_to(const Vector<float>& target, const std::vector<Segment>& tensors, double Segment::*member) {
  const auto host = Kokkos::create_mirror_view(target);
  for (std::size_t k = 0; k < tensors.size(); ++k) host(k) = static_cast<float>(tensors[k].*member);
  Kokkos::deep_copy(target, host);
}

}  // namespace

void DenseLambStep::Options::describe(OptionFields& fields) {
  fields.add("trust_min", trust_min, Range::at_least(0.0), "smallest trust ratio");
  fields.add("trust_max", trust_max, Range::at_least(0.0), "largest trust ratio");
}

void DenseLambStep::Options::validate(std::string_view owner) const {
  require_option(trust_min <= trust_max, owner,
                 "options 'trust_min', 'trust_max': expected trust_min <= trust_max, got " +
                     to_text(trust_min) + " and " + to_text(trust_max));
}

DenseLambStep::DenseLambStep(const Options& options, const TensorLayout& layout, const ResolvedGroups& groups)
    : options_(options),
      tiles_(TensorTiles<MemorySpace>::make(layout.boundaries())),
      tensors_(allocate_tensors(tiles_)) {
  set_groups(groups);
}

void DenseLambStep::set_groups(const ResolvedGroups& groups) const {
  // Kernels of the last step read what the host is going to write, where both share memory.
  Kokkos::fence("kadam::DenseLambStep::set_groups");
  copy_to(tensors_.lambda, groups.tensors, &Segment::weight_decay);
  copy_to(tensors_.lr_scale, groups.tensors, &Segment::lr_scale);
}

void DenseLambStep::operator()(const Step& step, const Moments& moments, const Gradient& mean_gradient,
                               double gradient_scale, const Vector<float>& own) const {
  const auto& [m, v] = moments;
  LambStep rule;
  rule.first = Ema::make(step.common.beta1);
  rule.second = Ema::make(step.common.beta2);
  rule.gradient_scale = static_cast<float>(gradient_scale);
  rule.inverse_c1 = static_cast<float>(1.0 / step.first_correction());
  rule.inverse_c2 = static_cast<float>(1.0 / step.second_correction());
  rule.eps = static_cast<float>(step.common.eps);
  rule.gamma = static_cast<float>(step.result.learning_rate);
  const auto set_trust_ratios = [&] {
    lamb_trust_ratios(step.exec, tiles_, tensors_, options_.trust_min, options_.trust_max);
  };
  const Vector<float>& x = step.x();
  if (own.extent(0) > 0) {
    lamb_directions<ExecutionSpace, MemorySpace>(step.exec, rule, tiles_, tensors_, x, m, v, own);
    set_trust_ratios();
    lamb_apply<ExecutionSpace, MemorySpace>(step.exec, rule, tiles_, tensors_, x, own);
    return;
  }
  lamb_moments<ExecutionSpace, MemorySpace>(step.exec, rule, tiles_, tensors_, x, m, v, mean_gradient);
  set_trust_ratios();
  lamb_apply<ExecutionSpace, MemorySpace>(step.exec, rule, tiles_, tensors_, x, m, v);
}

std::int64_t DenseLambStep::tile_count(const TensorLayout& layout) {
  return TensorTiles<MemorySpace>::count(layout.boundaries());
}

std::size_t DenseLambStep::memory_bytes(const TensorLayout& layout) {
  const auto tiles = static_cast<std::size_t>(tile_count(layout));
  return 3 * layout.tensors().size() * sizeof(float) + 2 * tiles * sizeof(double) +
         TensorTiles<MemorySpace>::memory_bytes(tiles, layout.tensors().size());
}

void Lamb::Options::describe(OptionFields& fields) {
  common.describe(fields);
  trust.describe(fields);
}

AlgorithmCost Lamb::cost(const Options& options, const Problem& problem) {
  AlgorithmCost cost;
  cost.phases = {dense_phase("dense", options.common, problem, cost::lamb_update)};
  cost.memory = DenseMeanLayout(problem.ranks, problem.elements(), options.common.gradients).cost().memory;
  cost.memory += {problem.vectors(2), DenseLambStep::memory_bytes(problem.layout)};
  return cost;
}

Lamb::Lamb(const Options& options, Workplace& at)
    : Algorithm(at), lamb_step_(options.trust, layout(), groups()) {
  const ExecutionSpace exec;
  moments_ = Moments::zeros(exec, "kadam::Lamb", elements());
  mean_ = DenseMean(exec, communicator(), elements(), common().gradients);
  exec.fence("kadam::Lamb");
}

void Lamb::advance(Step& step) {
  const Gradient g = step.mean_gradient(mean_);
  const auto scope = step.enter(Phase::decode);
  step.result.gradient_scale = clip_factor_of(step.exec, g);
  lamb_step_(step, moments_, g, step.result.gradient_scale, mean_.own_memory_of(g));
}

void Lamb::describe_state(const ExecutionSpace& /*exec*/, StateFields& fields) {
  moments_.describe_state(fields);
}

}  // namespace kadam
