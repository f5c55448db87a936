// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/gradient_sink.hpp>
#include <workloads/initialiser.hpp>
#include <workloads/matrix.hpp>

#include <cstdint>

namespace kadam::workloads {

/// x(n, :) += table(n mod positions, :). Shape: table [positions][width], x [examples * positions][width].
class PositionEmbedding {
 public:
  PositionEmbedding(TensorLayoutBuilder& layout, std::int64_t positions, std::int64_t width);

  void initialise(const Initialiser& initialiser, double deviation) const;

  void add_to(const ExecutionSpace& exec, const Vector<const float>& parameters,
              const Matrix<float>& x) const;

  /// Each row of the table gathers the rows of dx at its position, in order: no atomics.
  void backward(const ExecutionSpace& exec, const Matrix<const float>& dx,
                const GradientSink& gradient) const;

 private:
  std::int64_t positions_;
  std::int64_t width_;
  std::int64_t table_;
};

}  // namespace kadam::workloads
