// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>

#include <cstdint>
#include <string>
#include <workloads/initialiser.hpp>
#include <workloads/matrix.hpp>

namespace kadam::workloads {

/// x(n, :) = token_table(token_n, :) + position_table(n mod positions, :).
/// Shape: token_table [vocabulary][width], position_table [positions][width], x [examples *
/// positions][width].
class Embedding {
 public:
  Embedding(TensorLayoutBuilder& layout, std::int64_t vocabulary, std::int64_t positions, std::int64_t width);

  void initialise(const Initialiser& initialiser, double deviation) const;

  void forward(const ExecutionSpace& exec, const Vector<const float>& parameters,
               const Vector<const std::int32_t>& tokens, const Matrix<float>& x) const;

  /// Each row of the tables gathers the rows of dx that used it, in order: no atomics.
  void backward(const ExecutionSpace& exec, const Vector<const std::int32_t>& tokens,
                const Matrix<const float>& dx, const Vector<float>& gradient) const;

 private:
  std::int64_t vocabulary_;
  std::int64_t positions_;
  std::int64_t width_;
  std::int64_t token_table_;
  std::int64_t position_table_;
};

}  // namespace kadam::workloads
