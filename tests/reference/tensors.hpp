// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Tensors with rules of their own. Nothing of Kadam is used here.
namespace kadam::reference {

/// Elements [begin, end) of the flat vector, and what their parameter group says about them.
struct Tensor {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string name = {};
  double lr_scale = 1.0;
  std::optional<double> weight_decay = {};  ///< instead of the optimizer's
  bool dense = false;                       ///< kept out of compression
  std::vector<std::int64_t> shape = {};     ///< empty: one dimension
  bool spectral = true;

  /// As a matrix: the first extent by the rest.
  [[nodiscard]] std::int64_t rows() const { return shape.size() < 2 ? end - begin : shape[0]; }
  [[nodiscard]] std::int64_t columns() const { return rows() == 0 ? 0 : (end - begin) / rows(); }
  [[nodiscard]] bool is_matrix() const { return rows() > 1 && columns() > 1; }
};

struct Group {
  std::string tensors;  ///< a pattern of whole names; * stands for any characters
  double lr_scale = 1.0;
  std::optional<double> weight_decay = {};
  bool dense = false;
};

/// Whether a name fits a pattern: tries all that a star may stand for.
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

/// The first group that fits a tensor counts, alone; tensors of fewer than dense_below elements are dense,
/// too.
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
