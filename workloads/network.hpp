// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>
#include <workloads/model.hpp>

#include <cstdint>

namespace kadam::workloads {

/// A model that ends in logits and cross-entropy: what all of them share.
/// Batches are checked, activations are carved when the batch size changes, the loss is the mean over the
/// rows of the logits.
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
  /// Writes every element of `gradient` and finishes all, from the back to the front. `dlogits` may be
  /// overwritten.
  virtual void backward(const ExecutionSpace& exec, const Vector<const float>& parameters, const Batch& batch,
                        const Matrix<float>& dlogits, const GradientSink& gradient) = 0;

  /// To be called at the end of the constructor.
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
