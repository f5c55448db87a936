// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/chunk_layout.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/option_value.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kadam {

/// Tensors that differ from the rest in learning rate, weight decay or compression.
struct ParameterGroup {
  std::string tensors;                      ///< a pattern of names; * stands for any characters
  double lr_scale = 1.0;                    ///< factor on the learning rate
  std::optional<double> weight_decay = {};  ///< instead of the optimizer's
  bool dense = false;                       ///< never compressed: exchanged as an exact mean

  /// Errors: std::invalid_argument for numbers that are no finite ones >= 0.
  void validate(std::string_view owner) const;
};

/// Makes a group of its options: tensors (needed), lr_scale, weight_decay, dense. Errors name `owner`:
/// std::invalid_argument for another option, a value of the wrong type, no tensors or a number below 0.
[[nodiscard]] ParameterGroup read_group(std::string_view owner, const OptionMap& values);

/// Whether a tensor's name fits a pattern in which * stands for any characters.
[[nodiscard]] bool matches(std::string_view pattern, std::string_view name);

/// Consecutive elements with the same learning rate and weight decay.
struct Segment {
  ElementRange range;
  double lr_scale = 1.0;
  double weight_decay = 0.0;

  friend bool operator==(const Segment&, const Segment&) = default;
};

/// What the groups say about each tensor. The first group that matches a tensor counts.
struct ResolvedGroups {
  std::vector<Segment> tensors;   ///< one per tensor, in order
  std::vector<Segment> segments;  ///< neighbours with equal values joined
  std::vector<ElementRange> dense;

  /// Whether any weights decay.
  [[nodiscard]] bool decay() const {
    return std::any_of(segments.begin(), segments.end(),
                       [](const Segment& segment) { return segment.weight_decay > 0.0; });
  }
};

/// Adds a segment behind those before it, or joins it with the last one where both have the same values and
/// nothing lies between them.
void append_segment(std::vector<Segment>& segments, const Segment& segment);

/// dense_below: tensors with fewer elements are kept dense (0: none).
/// Errors: std::invalid_argument for a pattern that matches no tensor (lists the names).
[[nodiscard]] ResolvedGroups resolve_groups(const TensorLayout& layout,
                                            const std::vector<ParameterGroup>& groups, double weight_decay,
                                            std::int64_t dense_below);

}  // namespace kadam
