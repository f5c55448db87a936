// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>
#include <workloads/model.hpp>

#include <cstdint>

namespace kadam::workloads {

/// Base of all models that end in logits and cross-entropy. It checks batches, carves activations when the
/// batch size changes, and computes the loss: the mean over the rows of the logits.
class Network : public Model {
 public:
  [[nodiscard]] const TensorLayout& tensors() const final { return tensors_; }
  double loss_and_gradient(const ExecutionSpace& exec, const Vector<const float>& parameters,
                           const Batch& batch, const Vector<float>& gradient,
                           const GradientReady& ready) final;
  Evaluation evaluate(const ExecutionSpace& exec, const Vector<const float>& parameters,
                      const Batch& batch) final;

 protected:
  /// Errors: std::invalid_argument when the batch is not of this model's shape.
  virtual void check(const Batch& batch) const = 0;
  /// Takes the activations of `examples` examples from the arena.
  virtual void carve(Arena& arena, std::int64_t examples) = 0;
  /// Returns the logits, one row per prediction.
  virtual Matrix<float> forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
                                const Batch& batch) = 0;
  /// Writes every element of `gradient` and calls gradient.finish() for all of them, from the back to the
  /// front. May overwrite `dlogits`, the gradient of the logits.
  virtual void backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch& batch,
                        const Matrix<float>& dlogits, const GradientSink& gradient) = 0;

  /// Call at the end of a derived class's constructor.
  void set_tensors(const TensorLayoutBuilder& builder) { tensors_ = builder.build(); }

 private:
  void prepare(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch& batch);

  TensorLayout tensors_;
  Arena arena_;
  Scratch scratch_;
  std::int64_t carved_examples_ = -1;
  Matrix<float> results_;
};

/// Errors: std::invalid_argument "<what> has <actual> elements, expected <expected>: <hint>" when they
/// differ.
void require_elements(const char* what, std::size_t actual, std::int64_t expected, const char* hint);

}  // namespace kadam::workloads
