// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/transformer_head.hpp>

namespace kadam::workloads {

TransformerHead::TransformerHead(TensorLayoutBuilder& layout, std::int64_t width, std::int64_t classes)
    : norm_(layout, "output_norm", width), output_(layout, "output", width, classes) {}

void TransformerHead::initialise(const Initialiser& initialiser, double deviation) const {
  norm_.initialise(initialiser);
  output_.initialise(initialiser, deviation);
}

void TransformerHead::carve(Arena& arena, std::int64_t rows) {
  statistics_ = arena.matrix(rows, 2);
  normalised_ = arena.matrix(rows, output_.inputs());
  dnormalised_ = arena.matrix(rows, output_.inputs());
  logits_ = arena.matrix(rows, output_.outputs());
}

const Matrix<float>& TransformerHead::forward(const ExecutionSpace& exec,
                                              const Vector<const float>& parameters,
                                              const Matrix<const float>& x) const {
  norm_.forward(exec, parameters, x, statistics_, normalised_);
  output_.forward(exec, parameters, normalised_, logits_);
  return logits_;
}

void TransformerHead::backward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                               const Matrix<const float>& x, const Matrix<const float>& dlogits,
                               const Matrix<float>& dx, const GradientSink& gradient) const {
  output_.backward_parameters(exec, normalised_, dlogits, gradient);
  output_.backward_input(exec, parameters, dlogits, dnormalised_);
  norm_.backward_parameters(exec, x, statistics_, dnormalised_, gradient);
  Kokkos::deep_copy(exec, dx, 0.0f);
  norm_.backward_input(exec, parameters, x, statistics_, dnormalised_, dx);
}

}  // namespace kadam::workloads
