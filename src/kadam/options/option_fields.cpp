// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/options/option_fields.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

std::string number_text(double value) {
  char buffer[32];
  // Shortest of the forms that reads back as the same number.
  for (const int digits : {6, 9, 17}) {
    (void)std::snprintf(buffer, sizeof(buffer), "%.*g", digits, value);
    if (std::stod(buffer) == value) break;
  }
  return buffer;
}

[[noreturn]] void refuse(const std::string& name, const OptionValue& value, const std::string& expected) {
  throw std::invalid_argument("option '" + name + "': expected " + expected + ", got " + to_text(value));
}

[[noreturn]] void refuse_unknown(std::string_view owner, const std::string& name,
                                 const std::vector<OptionField>& fields) {
  std::string text(owner);
  text.append(" has no option '").append(name).append("': its options are");
  const char* separator = " ";
  for (const OptionField& field : fields) {
    text.append(separator).append(field.name);
    separator = ", ";
  }
  throw std::invalid_argument(text);
}

/// The help, and behind it the range if there is one.
std::string help_with(std::string help, const std::string& range, const char* separator = "; ") {
  return range.empty() ? help : std::move(help) + separator + range;
}

double to_double(const std::string& name, const OptionValue& value, const Range& range) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (const auto* real = std::get_if<double>(&value)) number = *real;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) number = static_cast<double>(*integer);
  if (!range.holds(number)) refuse(name, value, help_with("a number", range.text(), ", "));
  return number;
}

std::int64_t to_integer(const std::string& name, const OptionValue& value, const Range& range) {
  std::optional<std::int64_t> number;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) number = *integer;
  if (const auto* real = std::get_if<double>(&value)) {
    const auto rounded = static_cast<std::int64_t>(*real);
    if (static_cast<double>(rounded) == *real) number = rounded;
  }
  if (!number || !range.holds(static_cast<double>(*number)))
    refuse(name, value, help_with("a whole number", range.text(), ", "));
  return *number;
}

const std::string& to_string(const std::string& name, const OptionValue& value, const std::string& expected) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  refuse(name, value, expected);
}

/// The words as a list: "a or b", "a, b or c".
std::string list_of(const std::vector<std::string>& words) {
  std::string list;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (k > 0) list += k + 1 == words.size() ? " or " : ", ";
    list += words[k];
  }
  return list;
}

}  // namespace

std::string to_text(const OptionValue& value) {
  struct Text {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return std::to_string(number); }
    std::string operator()(double number) const { return number_text(number); }
    std::string operator()(const std::string& text) const { return '"' + text + '"'; }
    std::string operator()(const std::vector<double>& list) const {
      std::string text;
      for (const double number : list) text += (text.empty() ? "" : ", ") + number_text(number);
      return "[" + text + "]";
    }
  };
  return std::visit(Text{}, value);
}

bool Range::holds(double number) const {
  const bool is_not_under = is_above_ ? number > least_ : number >= least_;
  const bool is_not_over = is_below_ ? number < most_ : number <= most_;
  return std::isfinite(number) && is_not_under && is_not_over;
}

std::string Range::text() const {
  if (std::isinf(least_)) return "";
  std::string from = number_text(least_);
  if (is_above_) from = "above " + from;
  if (std::isinf(most_)) return is_above_ ? from : from + " or more";
  const char* joined =
      is_above_ ? (is_below_ ? ", below " : ", at most ") : (is_below_ ? " to below " : " to ");
  return from + joined + number_text(most_);
}

void OptionFields::add(const std::string& name, double& value, const Range& range, std::string help) {
  const auto set = [&value, name, range](const OptionValue& v) { value = to_double(name, v, range); };
  fields_.push_back(
      {name, help_with(std::move(help), range.text()), set, [&value] { return OptionValue(value); }});
}

void OptionFields::add(const std::string& name, std::int64_t& value, const Range& range, std::string help) {
  const auto set = [&value, name, range](const OptionValue& v) { value = to_integer(name, v, range); };
  fields_.push_back(
      {name, help_with(std::move(help), range.text()), set, [&value] { return OptionValue(value); }});
}

void OptionFields::add(const std::string& name, double& value, std::string help) {
  add(name, value, Range::any(), std::move(help));
}

void OptionFields::add(const std::string& name, std::int64_t& value, std::string help) {
  add(name, value, Range::any(), std::move(help));
}

void OptionFields::add(const std::string& name, bool& value, std::string help) {
  const auto set = [&value, name](const OptionValue& v) {
    const bool* flag = std::get_if<bool>(&v);
    if (flag == nullptr) refuse(name, v, "true or false");
    value = *flag;
  };
  fields_.push_back({name, std::move(help), set, [&value] { return OptionValue(value); }});
}

void OptionFields::add(const std::string& name, std::string& value, std::string help) {
  const auto set = [&value, name](const OptionValue& v) { value = to_string(name, v, "a text"); };
  fields_.push_back({name, std::move(help), set, [&value] { return OptionValue(value); }});
}

void OptionFields::add(const std::string& name, StepsOrAuto& value, const Range& range, std::string help) {
  const auto set = [&value, name, range](const OptionValue& v) {
    if (const auto* text = std::get_if<std::string>(&v)) {
      if (*text != "auto") refuse(name, v, "a number of steps or \"auto\"");
      value = {0, true};
    } else {
      value = {to_integer(name, v, range), false};
    }
  };
  fields_.push_back({name, help_with(std::move(help), range.text()), set,
                     [&value] { return value.automatic ? OptionValue("auto") : OptionValue(value.steps); }});
}

void OptionFields::add(const std::string& name, std::vector<double>& value, const Range& range,
                       std::string help) {
  const auto set = [&value, name, range](const OptionValue& v) {
    const auto* list = std::get_if<std::vector<double>>(&v);
    if (list == nullptr) {
      value = {to_double(name, v, range)};
      return;
    }
    for (const double number : *list) (void)to_double(name, number, range);
    value = *list;
  };
  fields_.push_back({name, help_with(std::move(help), range.text()), set, [&value] {
                       return value.size() == 1 ? OptionValue(value.front()) : OptionValue(value);
                     }});
}

void OptionFields::add(const std::string& name, std::vector<std::int64_t>& value, const Range& range,
                       std::string help) {
  const auto set = [&value, name, range](const OptionValue& v) {
    const auto* list = std::get_if<std::vector<double>>(&v);
    if (list == nullptr) {
      value = {to_integer(name, v, range)};
      return;
    }
    value.clear();
    for (const double number : *list) value.push_back(to_integer(name, number, range));
  };
  fields_.push_back({name, help_with(std::move(help), range.text()), set,
                     [&value] { return OptionValue(std::vector<double>(value.begin(), value.end())); }});
}

void OptionFields::add_choice(const std::string& name, std::string& value,
                              const std::vector<std::string>& words, const std::string& help) {
  std::vector<std::pair<std::string, std::string>> meanings;
  for (const std::string& word : words) meanings.emplace_back(word, word);
  add_choice<std::string>(name, value, meanings, help);
}

void OptionFields::add_alias(const std::string& name, const std::string& alias_of, std::string& value,
                             const std::vector<std::pair<std::int64_t, std::string>>& meanings,
                             std::string help) {
  std::vector<std::string> numbers;
  for (const auto& [number, word] : meanings) numbers.push_back(std::to_string(number));
  const std::string expected = list_of(numbers);
  const auto set = [&value, name, meanings, expected](const OptionValue& v) {
    const auto meaning = std::find_if(meanings.begin(), meanings.end(), [&](const auto& one) {
      return v == OptionValue(one.first) || v == OptionValue(static_cast<double>(one.first));
    });
    if (meaning == meanings.end()) refuse(name, v, expected);
    value = meaning->second;
  };
  const auto get = [&value, meanings] {
    const auto meaning =
        std::find_if(meanings.begin(), meanings.end(), [&](const auto& one) { return one.second == value; });
    return meaning == meanings.end() ? OptionValue(value) : OptionValue(meaning->first);
  };
  fields_.push_back({name, help_with(std::move(help), expected), set, get, {}, alias_of});
}

void OptionFields::add_words(const std::string& name, const std::vector<std::string>& words,
                             std::function<void(std::size_t)> set, std::function<std::size_t()> get,
                             std::string help) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back('"' + word + '"');
  const auto set_word = [name, words, set = std::move(set),
                         expected = list_of(quoted)](const OptionValue& v) {
    const auto word = std::find(words.begin(), words.end(), to_string(name, v, expected));
    if (word == words.end()) refuse(name, v, expected);
    set(static_cast<std::size_t>(word - words.begin()));
  };
  fields_.push_back({name, help_with(std::move(help), list_of(words)), set_word,
                     [words, get = std::move(get)] { return OptionValue(words[get()]); }, words});
}

void OptionFields::read(std::string_view owner, const OptionMap& values) const {
  for (const auto& [name, value] : values) {
    const auto same_name = [&wanted = name](const OptionField& field) { return field.name == wanted; };
    const auto field = std::find_if(fields_.begin(), fields_.end(), same_name);
    if (field == fields_.end()) {
      refuse_unknown(owner, name, fields_);
    }
    require_option(
        values.count(field->alias_of) == 0, owner,
        "the options '" + name + "' and '" + field->alias_of + "' set the same thing: give only one of them");
    try {
      field->set(value);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(std::string(owner) + ", " + error.what());
    }
  }
}

OptionMap OptionFields::show() const {
  OptionMap values;
  for (const OptionField& field : fields_) {
    if (field.alias_of.empty()) values[field.name] = field.get();
  }
  return values;
}

void require_option(bool condition, std::string_view owner, const std::string& sentence) {
  if (!condition) throw std::invalid_argument(std::string(owner) + ": " + sentence);
}

}  // namespace kadam
