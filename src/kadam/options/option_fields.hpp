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

/// The range of numbers that an option takes, as in at_least(0), above(0).up_to(1), at_least(0).below(1). No
/// range holds infinity or NaN.
class Range {
 public:
  static Range at_least(double least) { return {least, false}; }
  static Range above(double bound) { return {bound, true}; }
  /// Any finite number.
  static Range any() { return {-std::numeric_limits<double>::infinity(), false}; }
  [[nodiscard]] Range up_to(double most) const { return {least_, is_above_, most, false}; }
  [[nodiscard]] Range below(double bound) const { return {least_, is_above_, bound, true}; }

  [[nodiscard]] bool holds(double number) const;
  /// The range in words: "0 or more", "above 0, at most 1", "0 to 1", "0 to below 1"; "" for any().
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
  std::string help;  ///< range or words included
  std::function<void(const OptionValue&)> set;
  std::function<OptionValue()> get;
  std::vector<std::string> words = {};  ///< all words that it takes; empty: it is no choice of words
  std::string alias_of = {};            ///< the option that this one sets in another way; empty: none
};

/// Collects the fields of an Options struct, to which it keeps references: the struct must outlive it.
///
/// The struct describes each option once, by add...(): its default is the value of its member, its range or
/// words and its help are arguments. Reading, refusing, showing, hashing and documentation follow from that.
class OptionFields {
 public:
  void add(const std::string& name, bool& value, std::string help);
  /// Any text.
  void add(const std::string& name, std::string& value, std::string help);
  void add(const std::string& name, double& value, const Range& range, std::string help);
  void add(const std::string& name, std::int64_t& value, const Range& range, std::string help);
  /// Any finite number: the algorithm checks whether it makes sense.
  void add(const std::string& name, double& value, std::string help);
  void add(const std::string& name, std::int64_t& value, std::string help);
  /// A number of steps in this range, or "auto".
  void add(const std::string& name, StepsOrAuto& value, const Range& range, std::string help);
  /// A list of numbers, each in this range; one number is a list of one.
  void add(const std::string& name, std::vector<double>& value, const Range& range, std::string help);
  void add(const std::string& name, std::vector<std::int64_t>& value, const Range& range, std::string help);
  /// One of some words, each of which stands for a value. `value` has to be that of one of the words.
  template <class T>
  void add_choice(const std::string& name, T& value, const std::vector<std::pair<std::string, T>>& words,
                  const std::string& help);
  /// One of some texts.
  void add_choice(const std::string& name, std::string& value, const std::vector<std::string>& words,
                  const std::string& help);
  /// Another way to set the option `alias_of`, whose member is `value`: by a whole number that stands for one
  /// of its words. read() refuses a map that has both; show() leaves the alias out.
  void add_alias(const std::string& name, const std::string& alias_of, std::string& value,
                 const std::vector<std::pair<std::int64_t, std::string>>& meanings, std::string help);

  [[nodiscard]] const std::vector<OptionField>& fields() const { return fields_; }

  /// Sets each option of `values`. Errors: std::invalid_argument, whose text begins with `owner`, for an
  /// unknown name (lists what exists), a value of the wrong type, one out of its range (says which are
  /// expected), or an alias beside its option; some options may then be set.
  void read(std::string_view owner, const OptionMap& values) const;
  /// All options with their present values, aliases left out.
  [[nodiscard]] OptionMap show() const;

 private:
  /// set(k) sets the option to the k-th word; get() returns the number of its word.
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

/// Makes an Options struct with these values set, and does not validate it. If the struct has a function
/// choose_preset(values), calls that first: it may change defaults. Errors: as OptionFields::read().
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
