// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/adam_direction.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/optim/efficient_adam.hpp>

#include <utility>

namespace kadam {
namespace {

struct DecayAndSubtract {
  Vector<float> x;
  float decay;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float mean) const {
    x(i) = decay * x(i) - mean;
  }
};

DecayAndSubtract update_of(const Segment& segment, const Parameters& parameters, const StepResult& result) {
  const double gamma = result.learning_rate * segment.lr_scale;
  return {parameters.master(), static_cast<float>(1.0 - gamma * segment.weight_decay)};
}

/// What is never compressed: tensors kept dense, and those that do not move, which a 1-bit code could not
/// say.
std::vector<ElementRange> left_out(const ResolvedGroups& groups) {
  std::vector<ElementRange> ranges = groups.dense;
  for (const Segment& segment : groups.segments) {
    if (segment.lr_scale == 0.0) ranges.push_back(segment.range);
  }
  return ranges;
}

}  // namespace

void EfficientAdam::Options::describe(OptionFields& fields) {
  common.describe(fields);
  codec.describe(fields);
}

void EfficientAdam::Options::validate() const {
  common.validate("efficient_adam");
  codec.validate("efficient_adam");
}

EfficientAdam::EfficientAdam(const Options& options, TensorLayout layout,
                             std::shared_ptr<Communicator> shared_communicator)
    : Optimizer("efficient_adam", std::move(layout), std::move(shared_communicator), options.common),
      options_(options) {
  const ExecutionSpace exec;
  moments_ = Moments::zeros(exec, "kadam::EfficientAdam", elements());
  mean_ = GroupedMean(exec, options.codec, communicator(), elements(), groups(), left_out(groups()));
  exec.fence("kadam::EfficientAdam");
}

void EfficientAdam::advance(const ExecutionSpace& exec, const Parameters& parameters,
                            const Gradient& gradient, StepResult& result) {
  result.phase = "compressed";
  result.gradient_scale = clip_factor(result.gradient_norm);
  accumulate(exec, gradient, result);
  const auto update = [&](const Segment& segment) { return update_of(segment, parameters, result); };
  mean_.exchange_kept(exec, communicator(), phases(),
                      ElementOf<MemorySpace>{mean_.compressed().accumulator()});
  mean_.compressed().exchange_accumulated(
      exec, communicator(), phases(), mean_.active(),
      [&](const ElementRange& arrived) { mean_.decode(exec, groups(), arrived, update); });
  mean_.decode_kept(exec, groups(), phases(), update);
}

void EfficientAdam::accumulate(const ExecutionSpace& exec, const Gradient& gradient,
                               const StepResult& result) {
  const auto scope = phases().enter(exec, Phase::encode);
  const std::int64_t t = steps_taken() + 1;
  const MomentUpdate moments{Ema::make(common().beta1), Ema::make(common().beta2),
                             static_cast<float>(result.gradient_scale)};
  for (const Segment& segment : groups().segments) {
    const AdamDirection direction =
        AdamDirection::make(1.0, result.learning_rate * segment.lr_scale, common().eps,
                            common().first_correction(t), common().second_correction(t));
    accumulate_adam_direction(exec, moments, direction, segment.range.begin, segment.range.end, moments_.m,
                              moments_.v, gradient, mean_.compressed().accumulator());
  }
}

void EfficientAdam::describe_state(const ExecutionSpace& /*exec*/, StateFields& fields) {
  moments_.describe_own_state(fields);
  mean_.compressed().describe_state(fields);
}

OptionMap EfficientAdam::options() const {
  return show_options(options_);
}

MemoryUse EfficientAdam::memory() const {
  MemoryUse use = mean_.memory();
  use.state_bytes += moments_.bytes();
  return use;
}

std::vector<PlannedTraffic> EfficientAdam::traffic_plan() const {
  std::vector<PlannedTraffic> plan;
  mean_.add_traffic("compressed", plan);
  return plan;
}

void EfficientAdam::add_health(const ExecutionSpace& exec, Health& health) {
  health.error_ratio = error_ratio(exec, mean_);
  health.variance_spread = spread_over_ranks(one_norm(exec, moments_.v));
}

}  // namespace kadam
