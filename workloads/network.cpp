// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/layers/cross_entropy.hpp>
#include <workloads/network.hpp>

#include <stdexcept>
#include <string>

namespace kadam::workloads {

void require_elements(const char* what, std::size_t actual, std::int64_t expected, const char* hint) {
  if (actual != static_cast<std::size_t>(expected)) {
    throw std::invalid_argument("kadam::workloads: " + std::string(what) + " has " + std::to_string(actual) +
                                " elements, expected " + std::to_string(expected) + ": " + hint);
  }
}

void Network::prepare(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch& batch) {
  if (batch.examples < 1) {
    throw std::invalid_argument("kadam::workloads: a batch has " + std::to_string(batch.examples) +
                                " examples, expected at least 1");
  }
  require_elements("the parameter vector", parameters.extent(0), tensors_.elements(),
                   "allocate tensors().elements()");
  check(batch);
  if (batch.examples != carved_examples_) {
    arena_.lay_out(exec, [&](Arena& arena) {
      results_ = arena.matrix(static_cast<std::int64_t>(batch.targets.extent(0)), 2);
      carve(arena, batch.examples);
    });
    carved_examples_ = batch.examples;
  }
}

double Network::loss_and_gradient(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                  const Batch& batch, const Vector<float>& gradient,
                                  const GradientReady& ready) {
  require_elements("the gradient", gradient.extent(0), tensors_.elements(), "allocate tensors().elements()");
  prepare(exec, parameters, batch);
  const Matrix<float> logits = forward(exec, parameters, batch);
  const double rows = static_cast<double>(rows_of(logits));
  cross_entropy_gradient(exec, logits, batch.targets, static_cast<float>(1.0 / rows), results_);
  backward(exec, parameters, batch, logits, GradientSink(gradient, ready, scratch_));
  return sum_of_losses(exec, results_) / rows;
}

Evaluation Network::evaluate(const ExecutionSpace& exec, const Vector<const float>& parameters,
                             const Batch& batch) {
  prepare(exec, parameters, batch);
  const Matrix<float> logits = forward(exec, parameters, batch);
  return cross_entropy_evaluation(exec, logits, batch.targets, results_);
}

}  // namespace kadam::workloads
