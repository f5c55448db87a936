// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kadam {

/// One named tensor: elements [begin, end) of the flat parameter vector, row-major. May be empty.
///
/// A tensor of two or more dimensions is read as shape[0] rows; it is a matrix if it has at least two rows
/// and two columns. Worked number: a convolution of shape 8 x 3 x 5 x 5 is a matrix 8 x 75.
struct Tensor {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::vector<std::int64_t> shape = {};  ///< extents; empty: one dimension
  bool spectral =
      true;  ///< false keeps a matrix, such as an embedding or an output layer, from muon's update

  [[nodiscard]] std::int64_t elements() const { return end - begin; }
  [[nodiscard]] std::int64_t rows() const { return shape.size() < 2 ? elements() : shape.front(); }
  [[nodiscard]] std::int64_t columns() const { return rows() == 0 ? 0 : elements() / rows(); }
  [[nodiscard]] bool is_matrix() const { return rows() >= 2 && columns() >= 2; }
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// The named tensors of a model, one after the other in one flat vector of d float32 elements.
///
/// Errors: the constructor throws std::invalid_argument when tensors overlap, leave a gap, are out of order,
/// share a name, or have a number of elements that is not that of their shape. Worked number:
/// {{"w", 0, 6}, {"b", 6, 8}} has d = 8.
class TensorLayout {
 public:
  TensorLayout() = default;
  explicit TensorLayout(std::vector<Tensor> tensors);

  /// d, the length of the flat vector.
  [[nodiscard]] std::int64_t elements() const { return tensors_.empty() ? 0 : tensors_.back().end; }
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }
  /// 0, followed by Tensor::end of each tensor.
  [[nodiscard]] std::vector<std::int64_t> boundaries() const;

  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;

 private:
  std::vector<Tensor> tensors_;
};

/// Builds a layout tensor by tensor.
class TensorLayoutBuilder {
 public:
  /// Appends a tensor of one dimension. Returns its first element.
  std::int64_t add(std::string name, std::int64_t elements);
  /// Appends a tensor of this shape; spectral: Tensor::spectral. Returns its first element. Errors:
  /// std::invalid_argument for a negative extent, or more elements than 64 bits can count.
  std::int64_t add(std::string name, std::vector<std::int64_t> shape, bool spectral = true);
  /// Errors: as for TensorLayout.
  [[nodiscard]] TensorLayout build() const { return TensorLayout(tensors_); }

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace kadam
