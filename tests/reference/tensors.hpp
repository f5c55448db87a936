// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Tensors and parameter groups. Nothing of Kadam is used here.
namespace kadam::reference {

/// A tensor: elements [begin, end) of the flat vector, with the rules of its parameter group.
struct Tensor {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string name = {};
  double lr_scale = 1.0;
  std::optional<double> weight_decay = {};  ///< instead of the optimizer's
  bool dense = false;                       ///< kept out of compression
  std::vector<std::int64_t> shape = {};     ///< empty: one dimension
  bool spectral = true;

  /// Extents as a matrix: the first extent, and the product of the others.
  [[nodiscard]] std::int64_t rows() const { return shape.size() < 2 ? end - begin : shape[0]; }
  [[nodiscard]] std::int64_t columns() const { return rows() == 0 ? 0 : (end - begin) / rows(); }
  [[nodiscard]] bool is_matrix() const { return rows() > 1 && columns() > 1; }
};

/// A parameter group.
struct Group {
  std::string tensors;  ///< a pattern of whole names; * stands for any characters
  double lr_scale = 1.0;
  std::optional<double> weight_decay = {};
  bool dense = false;
};

/// Whether a name fits a pattern, by trying every text that a star may stand for.
inline bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() != '*') {
    return !name.empty() && pattern.front() == name.front() && fits(pattern.substr(1), name.substr(1));
  }
  for (std::size_t k = 0; k <= name.size(); ++k) {
    if (fits(pattern.substr(1), name.substr(k))) return true;
  }
  return false;
}

/// Gives each tensor the rules of the first group that fits its name. Tensors of fewer than dense_below
/// elements become dense as well.
inline void apply_groups(const std::vector<Group>& groups, std::int64_t dense_below,
                         std::vector<Tensor>& tensors) {
  for (Tensor& tensor : tensors) {
    if (tensor.end - tensor.begin < dense_below) tensor.dense = true;
    for (const Group& group : groups) {
      if (!fits(group.tensors, tensor.name)) continue;
      tensor.lr_scale = group.lr_scale;
      tensor.weight_decay = group.weight_decay;
      tensor.dense = tensor.dense || group.dense;
      break;
    }
  }
}

}  // namespace kadam::reference
