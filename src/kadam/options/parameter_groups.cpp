// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/options/option_fields.hpp>
#include <kadam/options/parameter_groups.hpp>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kadam {
namespace {

void require_match(const TensorLayout& layout, const ParameterGroup& group) {
  std::string names;
  for (const Tensor& tensor : layout.tensors()) {
    if (matches(group.tensors, tensor.name)) return;
    names += (names.empty() ? "" : ", ") + tensor.name;
  }
  throw std::invalid_argument("parameter group '" + group.tensors + "' matches no tensor: the tensors are " +
                              names);
}

}  // namespace

void ParameterGroup::validate(std::string_view owner) const {
  const double decay = weight_decay.value_or(0.0);
  const Range range = Range::at_least(0.0);
  require_option(range.holds(lr_scale), owner, "parameter group '" + tensors + "': expected lr_scale >= 0");
  require_option(range.holds(decay), owner, "parameter group '" + tensors + "': expected weight_decay >= 0");
}

ParameterGroup read_group(std::string_view owner, const OptionMap& values) {
  ParameterGroup group;
  double weight_decay = 0.0;
  OptionFields fields;
  fields.add("tensors", group.tensors, "");
  fields.add("lr_scale", group.lr_scale, Range::at_least(0.0), "");
  fields.add("weight_decay", weight_decay, Range::at_least(0.0), "");
  fields.add("dense", group.dense, "");
  fields.read(owner, values);
  require_option(!group.tensors.empty(), owner, "each group needs 'tensors', a pattern of tensor names");
  if (values.contains("weight_decay")) group.weight_decay = weight_decay;
  return group;
}

bool matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    return matches(pattern.substr(1), name) || (!name.empty() && matches(pattern, name.substr(1)));
  }
  return !name.empty() && pattern.front() == name.front() && matches(pattern.substr(1), name.substr(1));
}

void append_segment(std::vector<Segment>& segments, const Segment& segment) {
  if (segment.range.elements() == 0) return;
  const bool joins = !segments.empty() && segments.back().lr_scale == segment.lr_scale &&
                     segments.back().weight_decay == segment.weight_decay &&
                     segments.back().range.end == segment.range.begin;
  if (joins) {
    segments.back().range.end = segment.range.end;
  } else {
    segments.push_back(segment);
  }
}

ResolvedGroups resolve_groups(const TensorLayout& layout, const std::vector<ParameterGroup>& groups,
                              double weight_decay, std::int64_t dense_below) {
  for (const ParameterGroup& group : groups) require_match(layout, group);
  ResolvedGroups resolved;
  for (const Tensor& tensor : layout.tensors()) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const ParameterGroup& candidate) {
      return matches(candidate.tensors, tensor.name);
    });
    Segment segment{{tensor.begin, tensor.end}, 1.0, weight_decay};
    bool dense = tensor.elements() < dense_below;
    if (group != groups.end()) {
      segment.lr_scale = group->lr_scale;
      segment.weight_decay = group->weight_decay.value_or(weight_decay);
      dense = dense || group->dense;
    }
    resolved.tensors.push_back(segment);
    append_segment(resolved.segments, segment);
    if (dense && tensor.elements() > 0) resolved.dense.push_back(segment.range);
  }
  return resolved;
}

}  // namespace kadam
