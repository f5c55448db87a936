// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/mlp.hpp>

#include <cmath>
#include <stdexcept>

namespace kadam::workloads {

void MlpOptions::validate() const {
  static_cast<void>(activation_named(activation));
  for (const std::int64_t width : hidden) {
    if (width < 1) {
      throw std::invalid_argument("kadam::workloads::MlpOptions: hidden width " + std::to_string(width) +
                                  ", expected at least 1");
    }
  }
}

Mlp::Mlp(const MlpOptions& options, std::int64_t inputs, std::int64_t classes)
    : activation_((options.validate(), activation_named(options.activation))),
      outputs_(options.hidden.size() + 1),
      activated_(options.hidden.size()),
      gradients_(options.hidden.size()) {
  TensorLayoutBuilder builder;
  std::int64_t width = inputs;
  for (const std::int64_t hidden : options.hidden) {
    layers_.emplace_back(builder, "layers." + std::to_string(layers_.size()), width, hidden);
    width = hidden;
  }
  layers_.emplace_back(builder, "layers." + std::to_string(layers_.size()), width, classes, false);
  set_tensors(builder);
}

void Mlp::initialise(const HostVector<float>& parameters, std::uint64_t seed) const {
  require_elements("the parameter vector", parameters.extent(0), tensors().elements(),
                   "allocate tensors().elements()");
  const Initialiser initialiser(parameters, seed);
  for (const Linear& layer : layers_) {
    layer.initialise(initialiser, std::sqrt(2.0 / static_cast<double>(layer.inputs())));
  }
}

void Mlp::check(const Batch& batch) const {
  require_elements("batch.images", batch.images.extent(0), batch.examples * layers_.front().inputs(),
                   "give examples x channels x height x width pixels");
  require_elements("batch.targets", batch.targets.extent(0), batch.examples, "give one class per example");
}

void Mlp::carve(Arena& arena, std::int64_t examples) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    outputs_[i] = arena.matrix(examples, layers_[i].outputs());
    if (i + 1 < layers_.size()) {
      activated_[i] = arena.matrix(examples, layers_[i].outputs());
      gradients_[i] = arena.matrix(examples, layers_[i].outputs());
    }
  }
}

Matrix<const float> Mlp::input_of(std::size_t layer, const Batch& batch) const {
  if (layer > 0) {
    return activated_[layer - 1];
  }
  return matrix_at<const float>(batch.images, 0, batch.examples, layers_.front().inputs());
}

Matrix<float> Mlp::forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                           const Batch& batch) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].forward(exec, parameters, input_of(i, batch), outputs_[i]);
    if (i + 1 < layers_.size()) {
      activation_forward(exec, activation_, outputs_[i], activated_[i]);
    }
  }
  return outputs_.back();
}

void Mlp::backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch& batch,
                   const Matrix<float>& dlogits, const GradientSink& gradient) {
  Matrix<float> dy = dlogits;
  for (std::size_t i = layers_.size(); i-- > 0;) {
    layers_[i].backward_parameters(exec, input_of(i, batch), dy, gradient);
    if (i > 0) {
      layers_[i].backward_input(exec, parameters, dy, gradients_[i - 1]);
      activation_backward(exec, activation_, outputs_[i - 1], gradients_[i - 1]);
      dy = gradients_[i - 1];
    }
  }
}

}  // namespace kadam::workloads
