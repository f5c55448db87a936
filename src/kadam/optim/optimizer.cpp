// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/optim/optimizer.hpp>

#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

std::uint64_t hash_of(const TensorLayout& layout) {
  std::string text;
  for (const Tensor& tensor : layout.tensors()) text += tensor.name + ":" + std::to_string(tensor.end) + ";";
  return kadam::hash_of(text);
}

std::uint64_t hash_of(const std::vector<ParameterGroup>& groups) {
  std::string text;
  for (const ParameterGroup& group : groups) {
    text += group.tensors + ":" + to_text(OptionValue(group.lr_scale)) + ":" +
            (group.weight_decay ? to_text(OptionValue(*group.weight_decay)) : std::string("-")) +
            (group.dense ? ":dense;" : ";");
  }
  return kadam::hash_of(text);
}

}  // namespace

Optimizer::Optimizer(std::string_view name, TensorLayout layout, std::shared_ptr<Communicator> communicator,
                     CommonOptions common)
    : name_(name),
      layout_(std::move(layout)),
      communicator_(std::move(communicator)),
      common_(std::move(common)) {
  groups_ = resolve_groups(layout_, common_.groups, common_.weight_decay, common_.dense_below);
  const auto tiles = static_cast<std::size_t>(sum_tiles(elements()));
  partial_sums_ = Vector<double>("kadam::Optimizer::partial_sums", tiles);
  partial_sums_mirror_ = {"kadam::Optimizer::partial_sums_mirror", tiles};
}

void Optimizer::require_agreement() {
  const std::array<std::string, 5> names = {"the algorithm (hash)", "d, the number of parameters",
                                            "the tensors' names and sizes (hash)", "the options (hash)",
                                            "the parameter groups (hash)"};
  const std::array<std::uint64_t, 5> values = {kadam::hash_of(name_), static_cast<std::uint64_t>(elements()),
                                               hash_of(layout_), kadam::hash_of(options()),
                                               hash_of(common_.groups)};
  communicator_->require_equal(names, values);
}

StepResult Optimizer::step(const ExecutionSpace& exec, const Vector<float>& parameters,
                           const Vector<const float>& gradient) {
  require_extent("parameters", parameters.extent(0), parameters.label());
  require_extent("gradient", gradient.extent(0), gradient.label());
  phases_.start_step();
  StepResult result;
  result.step = step_;
  if (elements() == 0) return result;
  agree_on_gradient(exec, gradient, result);
  if (result.skipped) {
    ++skipped_;
    return result;
  }
  result.learning_rate = common_.learning_rate.at(step_ + 1);
  advance(exec, parameters, gradient, result);
  result.step = ++step_;
  return result;
}

void Optimizer::require_extent(const char* what, std::size_t got, const std::string& label) const {
  if (static_cast<std::int64_t>(got) == elements()) return;
  throw std::invalid_argument("kadam::Optimizer::step (" + name_ + "): the " + what + " View '" + label +
                              "' has " + std::to_string(got) + " elements, the tensors have " +
                              std::to_string(elements()) + ": pass one flat View over all tensors");
}

void Optimizer::agree_on_gradient(const ExecutionSpace& exec, const Vector<const float>& gradient,
                                  StepResult& result) {
  const auto scope = phases_.enter(exec, Phase::check);
  const double own = squared_norm(exec, gradient);
  double sum = 0.0;
  for (const double squared : communicator_->all_gather_values({&own, 1})) sum += squared;
  result.skipped = !std::isfinite(sum);
  result.gradient_norm = std::sqrt(sum / communicator_->size());
}

double Optimizer::clip_factor(double norm) const {
  return common_.clip_norm > 0.0 && norm > common_.clip_norm ? common_.clip_norm / norm : 1.0;
}

double Optimizer::clip_factor_of(const ExecutionSpace& exec, const Vector<const float>& mean_gradient) {
  return common_.clip_norm > 0.0 ? clip_factor(std::sqrt(squared_norm(exec, mean_gradient))) : 1.0;
}

double Optimizer::one_norm(const ExecutionSpace& exec, const Vector<const float>& values) {
  return ordered_sum(exec, static_cast<std::int64_t>(values.extent(0)), MagnitudeOf<MemorySpace>{values},
                     partial_sums_, partial_sums_mirror_);
}

double Optimizer::squared_norm(const ExecutionSpace& exec, const Vector<const float>& values) {
  return ordered_sum(exec, static_cast<std::int64_t>(values.extent(0)), SquareOf<MemorySpace>{values},
                     partial_sums_, partial_sums_mirror_);
}

}  // namespace kadam
