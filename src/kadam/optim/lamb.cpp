// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/lamb.hpp>

#include <utility>

namespace kadam {
namespace {

TensorTiles<MemorySpace> tiles_of(const TensorLayout& layout) {
  std::vector<std::int64_t> boundaries = {0};
  for (const Tensor& tensor : layout.tensors()) boundaries.push_back(tensor.end);
  return TensorTiles<MemorySpace>::make(boundaries);
}

LambTensors<MemorySpace> allocate_tensors(const TensorTiles<MemorySpace>& tiles) {
  const auto tensors = static_cast<std::size_t>(tiles.tensor_count());
  return {Vector<float>("kadam::Lamb::lr_scale", tensors), Vector<float>("kadam::Lamb::lambda", tensors),
          Vector<float>("kadam::Lamb::trust_ratio", tensors),
          Vector<double>("kadam::Lamb::partial", 2 * static_cast<std::size_t>(tiles.tile_count()))};
}

void copy_to(const Vector<float>& target, const std::vector<Segment>& tensors, double Segment::*member) {
  const auto host = Kokkos::create_mirror_view(target);
  for (std::size_t k = 0; k < tensors.size(); ++k) host(k) = static_cast<float>(tensors[k].*member);
  Kokkos::deep_copy(target, host);
}

}  // namespace

void Lamb::Options::describe(OptionFields& fields) {
  common.describe(fields);
  fields.add("trust_min", trust_min, "smallest trust ratio");
  fields.add("trust_max", trust_max, "largest trust ratio");
}

void Lamb::Options::validate() const {
  common.validate("lamb");
  require_option(trust_min >= 0.0 && trust_min <= trust_max, "lamb",
                 "options 'trust_min', 'trust_max': expected 0 <= trust_min <= trust_max");
}

Lamb::Lamb(const Options& options, TensorLayout layout, std::shared_ptr<Communicator> communicator)
    : Optimizer("lamb", std::move(layout), std::move(communicator), options.common),
      options_(options),
      tiles_(tiles_of(this->layout())),
      tensors_(allocate_tensors(tiles_)) {
  const ExecutionSpace exec;
  state_.m = allocate_zeros<float>(exec, "kadam::Lamb::m", elements());
  state_.v = allocate_zeros<float>(exec, "kadam::Lamb::v", elements());
  mean_ = DenseMean(exec, ChunkLayout(elements(), this->communicator().size()), this->communicator().rank());
  copy_to(tensors_.lambda, groups().tensors, &Segment::weight_decay);
  copy_to(tensors_.lr_scale, groups().tensors, &Segment::lr_scale);
  exec.fence("kadam::Lamb");
}

void Lamb::advance(const ExecutionSpace& exec, const Vector<float>& x, const Vector<const float>& gradient,
                   StepResult& result) {
  const Vector<const float> g = mean_(exec, communicator(), phases(), gradient);
  const auto scope = phases().enter(exec, Phase::decode);
  result.gradient_scale = clip_factor_of(exec, g);
  const std::int64_t t = steps_taken() + 1;
  LambStep rule;
  rule.first = Ema::make(common().beta1);
  rule.second = Ema::make(common().beta2);
  rule.gradient_scale = static_cast<float>(result.gradient_scale);
  rule.inverse_c1 = static_cast<float>(1.0 / common().first_correction(t));
  rule.inverse_c2 = static_cast<float>(1.0 / common().second_correction(t));
  rule.eps = static_cast<float>(common().eps);
  rule.gamma = static_cast<float>(result.learning_rate);
  lamb_moments<ExecutionSpace, MemorySpace>(exec, rule, tiles_, tensors_, x, state_.m, state_.v, g);
  lamb_trust_ratios(exec, tiles_, tensors_, options_.trust_min, options_.trust_max);
  lamb_apply<ExecutionSpace, MemorySpace>(exec, rule, tiles_, tensors_, x, state_.m, state_.v);
}

OptionMap Lamb::options() const {
  return show_options(options_);
}

MemoryUse Lamb::memory() const {
  return {2 * static_cast<std::size_t>(elements()) * sizeof(float),
          mean_.memory_bytes() + tensors_.partial.size() * sizeof(double)};
}

BytesPerStep Lamb::bytes_per_step() const {
  const std::size_t bytes = mean_.bytes_sent();
  return {bytes, bytes};
}

}  // namespace kadam
