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

  /// Throws std::invalid_argument unless lr_scale and weight_decay are finite and 0 or more. owner: begins
  /// the message.
  void validate(std::string_view owner) const;
};

/// Makes a group from its options: tensors (needed), lr_scale, weight_decay, dense. Errors, which name
/// `owner`: std::invalid_argument for another option, a value of the wrong type, no tensors or a number below
/// 0.
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
  std::vector<Segment> tensors;     ///< one per tensor, in the order of the layout
  std::vector<Segment> segments;    ///< neighbours with equal values joined
  std::vector<ElementRange> dense;  ///< of the tensors that are never compressed

  /// Whether some segment has a weight decay.
  [[nodiscard]] bool decay() const {
    return std::any_of(segments.begin(), segments.end(),
                       [](const Segment& segment) { return segment.weight_decay > 0.0; });
  }
};

/// Appends a segment, or joins it with the last one if both have the same values and nothing lies between
/// them. Drops an empty segment.
void append_segment(std::vector<Segment>& segments, const Segment& segment);

/// Finds the group, and so the rate, the decay and the exchange, of each tensor. weight_decay: that of the
/// optimizer. dense_below: tensors with fewer elements are kept dense (0: none).
/// Errors: std::invalid_argument for a pattern that matches no tensor (lists the names).
[[nodiscard]] ResolvedGroups resolve_groups(const TensorLayout& layout,
                                            const std::vector<ParameterGroup>& groups, double weight_decay,
                                            std::int64_t dense_below);

}  // namespace kadam
