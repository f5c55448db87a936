// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/settings.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/text_hash.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace kadam {
namespace {

constexpr double as_made = std::numeric_limits<double>::quiet_NaN();
constexpr double of_optimizer = -1.0;  // in place of the weight decay of a group

struct Settable {
  std::string_view name;
  std::optional<double> Settings::*place;
};
constexpr std::array<Settable, 3> settable = {
    {{"lr", &Settings::lr}, {"weight_decay", &Settings::weight_decay}, {"clip_norm", &Settings::clip_norm}}};

double settable_number(std::string_view owner, const std::string& what, const OptionValue& value) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (const auto* real = std::get_if<double>(&value)) number = *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*integer);
  require_option(Range::at_least(0.0).holds(number), owner,
                 what + ": expected a number, 0 or more, got " + to_text(value));
  return number;
}

std::string text_of_setting(double value) {
  if (std::isnan(value)) return "unchanged";
  return value < 0.0 ? "the optimizer's" : to_text(OptionValue(value));
}

}  // namespace

void Settings::set(std::string_view owner, const OptionMap& values) {
  for (const auto& [option, value] : values) {
    const auto found = std::find_if(settable.begin(), settable.end(),
                                    [&wanted = option](const Settable& one) { return one.name == wanted; });
    require_option(
        found != settable.end(), owner,
        "option '" + option + "' cannot be set during training: only lr, weight_decay and clip_norm can");
    this->*(found->place) = settable_number(owner, "option '" + option + "'", value);
  }
}

void Settings::set_group(std::string_view owner, const std::vector<ParameterGroup>& made,
                         std::string_view tensors, double lr_scale, const std::optional<double>& decay) {
  std::string known;
  for (const ParameterGroup& group : made) known += (known.empty() ? "" : ", ") + group.tensors;
  const auto found = std::find_if(made.begin(), made.end(),
                                  [&](const ParameterGroup& group) { return group.tensors == tensors; });
  require_option(found != made.end(), owner,
                 "there is no parameter group '" + std::string(tensors) + "': " +
                     (known.empty() ? "the optimizer was made without groups" : "its groups are " + known));
  const std::string what = "parameter group '" + std::string(tensors) + "', ";
  (void)settable_number(owner, what + "lr_scale", lr_scale);
  if (decay) (void)settable_number(owner, what + "weight_decay", *decay);
  of_groups.resize(made.size());
  of_groups[static_cast<std::size_t>(found - made.begin())] = {lr_scale, decay.value_or(of_optimizer)};
}

CommonOptions Settings::applied_to(CommonOptions made) const {
  if (lr) made.learning_rate.lr = {*lr};
  made.weight_decay = weight_decay.value_or(made.weight_decay);
  made.clip_norm = clip_norm.value_or(made.clip_norm);
  for (std::size_t k = 0; k < std::min(of_groups.size(), made.groups.size()); ++k) {
    ParameterGroup& group = made.groups[k];
    const OfGroup& of_group = of_groups[k];
    group.lr_scale = of_group.lr_scale.value_or(group.lr_scale);
    if (!of_group.weight_decay) continue;
    group.weight_decay = *of_group.weight_decay < 0.0 ? std::nullopt : of_group.weight_decay;
  }
  return made;
}

std::vector<std::pair<std::string, double>> Settings::named(const std::vector<ParameterGroup>& groups) const {
  // 53 bits, which a double holds exactly; never NaN.
  std::vector<std::pair<std::string, double>> all = {{"start", static_cast<double>(start >> 11U)}};
  for (const Settable& one : settable)
    all.emplace_back(std::string(one.name), (this->*(one.place)).value_or(as_made));
  for (std::size_t k = 0; k < groups.size(); ++k) {
    const OfGroup of_group = k < of_groups.size() ? of_groups[k] : OfGroup{};
    const std::string name = " of parameter group '" + groups[k].tensors + "'";
    all.emplace_back("lr_scale" + name, of_group.lr_scale.value_or(as_made));
    all.emplace_back("weight_decay" + name, of_group.weight_decay.value_or(as_made));
  }
  return all;
}

std::uint32_t Settings::fingerprint() const {
  if (*this == Settings{}) return 0;
  std::string text = std::to_string(start) + ";";
  const auto add = [&](const std::optional<double>& value) {
    text += (value ? to_text(OptionValue(*value)) : std::string("-")) + ";";
  };
  for (const Settable& one : settable) add(this->*(one.place));
  for (const OfGroup& of_group : of_groups) {
    add(of_group.lr_scale);
    add(of_group.weight_decay);
  }
  const std::uint64_t hash = hash_of(text);
  return static_cast<std::uint32_t>((hash ^ (hash >> 20U) ^ (hash >> 40U)) & 0xFFFFFU) | 1U;
}

std::uint32_t Settings::fingerprint_after(std::uint32_t earlier) const {
  const std::uint32_t all = (earlier ^ fingerprint()) * 0x9E3779B1U;
  return all ^ (all >> 15U);
}

void Settings::require_equal(Communicator& communicator, std::string_view owner,
                             const std::vector<ParameterGroup>& groups) const {
  const auto own = named(groups);
  std::vector<double> values;
  for (const auto& [name, value] : own) values.push_back(value);
  const std::vector<double> all = communicator.all_gather_values(values);
  for (std::size_t rank = 1; rank < static_cast<std::size_t>(communicator.size()); ++rank) {
    if (all[rank * own.size()] != all.front()) {
      throw std::invalid_argument(std::string(owner) + ": before the first step the parameters of rank " +
                                  std::to_string(rank) +
                                  " are not those of rank 0: start all ranks from one seed, or send rank 0's "
                                  "parameters to all (MPI_Bcast)");
    }
    for (std::size_t k = 1; k < own.size(); ++k) {
      const std::string first = text_of_setting(all[k]);
      const std::string other = text_of_setting(all[rank * own.size() + k]);
      if (first == other) continue;
      std::string text(owner);
      text.append(": ranks have set different values: ").append(own[k].first).append(" is ").append(first);
      text.append(" on rank 0, ").append(other).append(" on rank ").append(std::to_string(rank));
      throw std::invalid_argument(text.append(": set the same on all ranks before the same step"));
    }
  }
}

void Settings::describe_state(StateFields& fields, const std::string& prefix,
                              const std::vector<ParameterGroup>& groups) {
  for (const Settable& one : settable)
    fields.number_if_there(prefix + std::string(one.name), this->*(one.place));
  for (std::size_t k = 0; k < std::min(of_groups.size(), groups.size()); ++k) {
    fields.number_if_there(prefix + "lr_scale." + groups[k].tensors, of_groups[k].lr_scale);
    fields.number_if_there(prefix + "weight_decay." + groups[k].tensors, of_groups[k].weight_decay);
  }
}

}  // namespace kadam
