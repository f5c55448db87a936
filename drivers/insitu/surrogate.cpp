// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/squared_error.hpp>
#include <insitu/surrogate.hpp>

#include <cmath>

namespace kadam::insitu {

void SurrogateOptions::describe(OptionFields& fields) {
  fields.add("surrogate.jump", jump, "time steps of the solver that it takes at once");
  fields.add("surrogate.radius", radius,
             "cells that it sees on each side of the one whose change it predicts");
  fields.add("surrogate.hidden", hidden, Range::any(), "widths of the hidden layers");
  fields.add("surrogate.activation", activation, "relu or gelu");
  fields.add("surrogate.history", history, "jumps of the solver that are kept to be learned from");
}

void SurrogateOptions::validate() const {
  const std::string owner = "surrogate";
  require_option(jump > 0, owner, "'jump': expected 1 time step or more");
  require_option(radius >= 0 && radius <= 64, owner, "'radius': expected 0 to 64 cells");
  for (const std::int64_t width : hidden) {
    require_option(width > 0, owner, "'hidden': expected widths of 1 or more");
  }
  static_cast<void>(workloads::activation_named(activation));
  require_option(history > 0 && history <= 4096, owner, "'history': expected 1 to 4096 jumps");
}

Surrogate::Surrogate(const SurrogateOptions& options)
    : activation_((options.validate(), workloads::activation_named(options.activation))),
      outputs_(options.hidden.size() + 1),
      activated_(options.hidden.size()),
      gradients_(options.hidden.size()) {
  TensorLayoutBuilder builder;
  std::int64_t width = options.inputs();
  for (const std::int64_t hidden : options.hidden) {
    layers_.emplace_back(builder, "layers." + std::to_string(layers_.size()), width, hidden);
    width = hidden;
  }
  layers_.emplace_back(builder, "layers." + std::to_string(layers_.size()), width, species);
  tensors_ = builder.build();
}

void Surrogate::initialise(const HostVector<float>& parameters, std::uint64_t seed) const {
  const workloads::Initialiser initialiser(parameters, seed);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const double deviation = std::sqrt(2.0 / static_cast<double>(layers_[i].inputs()));
    layers_[i].initialise(initialiser, i + 1 < layers_.size() ? deviation : 0.1 * deviation);
  }
}

void Surrogate::carve(workloads::Arena& arena, std::int64_t examples) {
  batch_.inputs = arena.matrix(examples, layers_.front().inputs());
  batch_.targets = arena.matrix(examples, species);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    outputs_[i] = arena.matrix(examples, layers_[i].outputs());
    if (i + 1 == layers_.size()) break;
    activated_[i] = arena.matrix(examples, layers_[i].outputs());
    gradients_[i] = arena.matrix(examples, layers_[i].outputs());
  }
}

const Surrogate::Batch& Surrogate::batch(const ExecutionSpace& exec, std::int64_t examples) {
  if (examples != examples_) {
    arena_.lay_out(exec, [&](workloads::Arena& arena) { carve(arena, examples); });
    examples_ = examples;
  }
  return batch_;
}

workloads::Matrix<const float> Surrogate::input_of(std::size_t layer) const {
  return layer == 0 ? batch_.inputs : activated_[layer - 1];
}

workloads::Matrix<float> Surrogate::predict(const ExecutionSpace& exec,
                                            const Vector<const float>& parameters) {
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    layers_[i].forward(exec, parameters, input_of(i), outputs_[i]);
    if (i + 1 < layers_.size()) workloads::activation_forward(exec, activation_, outputs_[i], activated_[i]);
  }
  return outputs_.back();
}

double Surrogate::loss_and_gradient(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                    const Vector<float>& gradient, const workloads::GradientReady& ready) {
  const workloads::GradientSink sink(gradient, ready);
  workloads::Matrix<float> dy = predict(exec, parameters);
  const double loss = squared_error_gradient(exec, dy, batch_.targets);
  for (std::size_t i = layers_.size(); i-- > 0;) {
    layers_[i].backward_parameters(exec, input_of(i), dy, sink);
    if (i == 0) break;
    layers_[i].backward_input(exec, parameters, dy, gradients_[i - 1]);
    workloads::activation_backward(exec, activation_, outputs_[i - 1], gradients_[i - 1]);
    dy = gradients_[i - 1];
  }
  return loss;
}

}  // namespace kadam::insitu
