// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kadam {

/// One named tensor: elements [begin, end) of the flat parameter vector. May be empty.
struct Tensor {
  std::string name;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t elements() const { return end - begin; }
  friend bool operator==(const Tensor&, const Tensor&) = default;
};

/// The named tensors of a model, one after the other in one flat vector of d float32 elements.
///
/// Errors: the constructor throws std::invalid_argument when tensors overlap, leave a gap, are out of order
/// or share a name. Worked number: {{"w", 0, 6}, {"b", 6, 8}} has d = 8.
class TensorLayout {
 public:
  TensorLayout() = default;
  explicit TensorLayout(std::vector<Tensor> tensors);

  /// d, the length of the flat vector.
  [[nodiscard]] std::int64_t elements() const { return tensors_.empty() ? 0 : tensors_.back().end; }
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }

  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;

 private:
  std::vector<Tensor> tensors_;
};

/// Builds a layout tensor by tensor; `add` returns the tensor's first element.
class TensorLayoutBuilder {
 public:
  std::int64_t add(std::string name, std::int64_t elements);
  [[nodiscard]] TensorLayout build() const { return TensorLayout(tensors_); }

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace kadam
