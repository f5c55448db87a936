// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/gradient_sink.hpp>
#include <workloads/initialiser.hpp>
#include <workloads/matrix.hpp>

#include <cstdint>

namespace kadam::workloads {

/// x(n, :) = table(token_n, :). Shape: table [vocabulary][width], x [tokens][width].
class TokenEmbedding {
 public:
  TokenEmbedding(TensorLayoutBuilder& layout, std::int64_t vocabulary, std::int64_t width);

  void initialise(const Initialiser& initialiser, double deviation) const;

  void forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
               const Vector<const std::int32_t>& tokens, const Matrix<float>& x) const;

  /// Each row of the table gathers the rows of dx that used it, in order: no atomics.
  void backward(const ExecutionSpace& exec, const Vector<const std::int32_t>& tokens,
                const Matrix<const float>& dx, const GradientSink& gradient) const;

 private:
  std::int64_t vocabulary_;
  std::int64_t width_;
  std::int64_t table_;
};

}  // namespace kadam::workloads
