// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/options/option_value.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kadam {

/// A number of steps, or "auto".
struct StepsOrAuto {
  std::int64_t steps = 0;
  bool automatic = false;
};

/// The numbers that an option may have: at_least(0), above(0).up_to(1), at_least(0).below(1). No option is
/// infinite or NaN.
class Range {
 public:
  static Range at_least(double least) { return {least, false}; }
  static Range above(double bound) { return {bound, true}; }
  /// Any finite number.
  static Range any() { return {-std::numeric_limits<double>::infinity(), false}; }
  [[nodiscard]] Range up_to(double most) const { return {least_, is_above_, most, false}; }
  [[nodiscard]] Range below(double bound) const { return {least_, is_above_, bound, true}; }

  [[nodiscard]] bool holds(double number) const;
  /// "0 or more", "above 0, at most 1", "0 to 1", "0 to below 1"; nothing for any number.
  [[nodiscard]] std::string text() const;

 private:
  Range(double least, bool is_above, double most = std::numeric_limits<double>::infinity(),
        bool is_below = false)
      : least_(least), is_above_(is_above), most_(most), is_below_(is_below) {}

  double least_;
  bool is_above_;
  double most_;
  bool is_below_;
};

/// One named option of an Options struct: how to set it, how to show it.
struct OptionField {
  std::string name;
  std::string help;  ///< with the range
  std::function<void(const OptionValue&)> set;
  std::function<OptionValue()> get;
  std::vector<std::string> words = {};  ///< all that it may be, if it is one of some words
  std::string alias_of = {};            ///< the option that this is another way to set
};

/// Collects the fields of an Options struct. The struct describes each option once: its default is the value
/// that it has, its range or its words and its help are given here. Reading, refusing, showing, hashing and
/// documentation all follow from that.
class OptionFields {
 public:
  void add(const std::string& name, bool& value, std::string help);
  /// Any text.
  void add(const std::string& name, std::string& value, std::string help);
  void add(const std::string& name, double& value, const Range& range, std::string help);
  void add(const std::string& name, std::int64_t& value, const Range& range, std::string help);
  /// Any number; whoever uses it looks whether it makes sense.
  void add(const std::string& name, double& value, std::string help);
  void add(const std::string& name, std::int64_t& value, std::string help);
  /// The range is that of the number.
  void add(const std::string& name, StepsOrAuto& value, const Range& range, std::string help);
  /// A number, or a list of numbers (one number is a list of one). The range is that of each.
  void add(const std::string& name, std::vector<double>& value, const Range& range, std::string help);
  void add(const std::string& name, std::vector<std::int64_t>& value, const Range& range, std::string help);
  /// One of some words, each of which stands for a value.
  template <class T>
  void add_choice(const std::string& name, T& value, const std::vector<std::pair<std::string, T>>& words,
                  const std::string& help);
  /// One of some texts.
  void add_choice(const std::string& name, std::string& value, const std::vector<std::string>& words,
                  const std::string& help);
  /// Another way to set the option `alias_of`, whose value this is, by a whole number that stands for a word.
  /// A map of options holds one of the two; show() has the other.
  void add_alias(const std::string& name, const std::string& alias_of, std::string& value,
                 const std::vector<std::pair<std::int64_t, std::string>>& meanings, std::string help);

  [[nodiscard]] const std::vector<OptionField>& fields() const { return fields_; }

  /// Sets each option of `values`. Errors: std::invalid_argument for an unknown name (lists what exists), a
  /// value of the wrong type, one out of its range (says which are expected), or an alias beside its option.
  void read(std::string_view owner, const OptionMap& values) const;
  /// All options with their present values, aliases left out.
  [[nodiscard]] OptionMap show() const;

 private:
  /// set(k): it is the k-th word; get(): which word it is.
  void add_words(const std::string& name, const std::vector<std::string>& words,
                 std::function<void(std::size_t)> set, std::function<std::size_t()> get, std::string help);

  std::vector<OptionField> fields_;
};

template <class T>
void OptionFields::add_choice(const std::string& name, T& value,
                              const std::vector<std::pair<std::string, T>>& words, const std::string& help) {
  std::vector<std::string> texts;
  for (const auto& [text, meaning] : words) texts.push_back(text);
  const auto set = [&value, words](std::size_t k) { value = words[k].second; };
  const auto get = [&value, words] {
    std::size_t k = 0;
    while (words[k].second != value) ++k;
    return k;
  };
  add_words(name, texts, set, get, help);
}

/// An Options struct with these values set, not validated yet. One that has choose_preset(values) may first
/// change its defaults, if one of the values says so. Errors: as OptionFields::read().
template <class Options>
[[nodiscard]] Options read_options(std::string_view owner, const OptionMap& values) {
  Options options;
  if constexpr (requires { options.choose_preset(values); }) options.choose_preset(values);
  OptionFields fields;
  options.describe(fields);
  fields.read(owner, values);
  return options;
}

/// All options of an Options struct with their present values.
template <class Options>
[[nodiscard]] OptionMap show_options(Options options) {
  OptionFields fields;
  options.describe(fields);
  return fields.show();
}

/// Throws std::invalid_argument "<owner>: <sentence>" unless the condition holds.
void require_option(bool condition, std::string_view owner, const std::string& sentence);

}  // namespace kadam
