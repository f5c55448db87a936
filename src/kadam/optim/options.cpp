// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/options.hpp>

#include <algorithm>
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

[[noreturn]] void refuse(const std::string& name, const OptionValue& value, const char* expected) {
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

double to_double(const std::string& name, const OptionValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  refuse(name, value, "a number");
}

std::int64_t to_integer(const std::string& name, const OptionValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* number = std::get_if<double>(&value)) {
    const auto rounded = static_cast<std::int64_t>(*number);
    if (static_cast<double>(rounded) == *number) return rounded;
  }
  refuse(name, value, "a whole number");
}

const std::string& to_string(const std::string& name, const OptionValue& value, const char* expected) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  refuse(name, value, expected);
}

template <class Enum>
struct Word {
  std::string text;
  Enum value;
};

/// "a" or "b"; "a", "b" or "c".
template <class Enum>
std::string list_of(const std::vector<Word<Enum>>& words) {
  std::string list;
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (k > 0) list += k + 1 == words.size() ? " or " : ", ";
    list.append("\"").append(words[k].text).append("\"");
  }
  return list;
}

/// An option that is one of some words.
template <class Enum>
OptionField one_of(const std::string& name, Enum& value, std::string help,
                   const std::vector<Word<Enum>>& words) {
  const auto set = [&value, name, words](const OptionValue& v) {
    const std::string expected = list_of(words);
    const std::string& text = to_string(name, v, expected.c_str());
    const auto word =
        std::find_if(words.begin(), words.end(), [&](const auto& known) { return known.text == text; });
    if (word == words.end()) refuse(name, v, expected.c_str());
    value = word->value;
  };
  const auto get = [&value, words] {
    return OptionValue(std::find_if(words.begin(), words.end(), [&](const auto& known) {
                         return known.value == value;
                       })->text);
  };
  return {name, std::move(help), set, get};
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

void OptionFields::add(const std::string& name, double& value, std::string help) {
  fields_.push_back({name, std::move(help),
                     [&value, name](const OptionValue& v) { value = to_double(name, v); },
                     [&value] { return OptionValue(value); }});
}

void OptionFields::add(const std::string& name, std::int64_t& value, std::string help) {
  fields_.push_back({name, std::move(help),
                     [&value, name](const OptionValue& v) { value = to_integer(name, v); },
                     [&value] { return OptionValue(value); }});
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

void OptionFields::add(const std::string& name, SignScale& value, std::string help) {
  fields_.push_back(one_of<SignScale>(name, value, std::move(help),
                                      {{"rms", SignScale::rms}, {"mean_abs", SignScale::mean_abs}}));
}

void OptionFields::add(const std::string& name, SparseExchange& value, std::string help) {
  fields_.push_back(one_of<SparseExchange>(name, value, std::move(help),
                                           {{"own", SparseExchange::own}, {"owner", SparseExchange::owner}}));
}

void OptionFields::add(const std::string& name, Progress& value, std::string help) {
  fields_.push_back(
      one_of<Progress>(name, value, std::move(help),
                       {{"thread", Progress::thread}, {"poll", Progress::poll}, {"none", Progress::none}}));
}

void OptionFields::add(const std::string& name, NumberFormat& value, std::string help) {
  std::vector<Word<NumberFormat>> words;
  for (const NumberFormat format : {NumberFormat::float32, NumberFormat::bfloat16, NumberFormat::float16})
    words.push_back({name_of(format), format});
  fields_.push_back(one_of(name, value, std::move(help), words));
}

void OptionFields::add(const std::string& name, StepsOrAuto& value, std::string help) {
  const auto set = [&value, name](const OptionValue& v) {
    if (const auto* text = std::get_if<std::string>(&v)) {
      if (*text != "auto") refuse(name, v, "a number of steps or \"auto\"");
      value = {0, true};
    } else {
      value = {to_integer(name, v), false};
    }
  };
  fields_.push_back({name, std::move(help), set,
                     [&value] { return value.automatic ? OptionValue("auto") : OptionValue(value.steps); }});
}

void OptionFields::add(const std::string& name, std::vector<double>& value, std::string help) {
  const auto set = [&value, name](const OptionValue& v) {
    const auto* list = std::get_if<std::vector<double>>(&v);
    value = list != nullptr ? *list : std::vector<double>{to_double(name, v)};
  };
  fields_.push_back({name, std::move(help), set, [&value] {
                       return value.size() == 1 ? OptionValue(value.front()) : OptionValue(value);
                     }});
}

void OptionFields::add(const std::string& name, std::vector<std::int64_t>& value, std::string help) {
  const auto set = [&value, name](const OptionValue& v) {
    const auto* list = std::get_if<std::vector<double>>(&v);
    value.clear();
    for (const double number : list != nullptr ? *list : std::vector<double>{to_double(name, v)}) {
      value.push_back(to_integer(name, number));
    }
  };
  fields_.push_back({name, std::move(help), set,
                     [&value] { return OptionValue(std::vector<double>(value.begin(), value.end())); }});
}

void OptionFields::read(std::string_view owner, const OptionMap& values) const {
  for (const auto& [name, value] : values) {
    const auto same_name = [&wanted = name](const OptionField& field) { return field.name == wanted; };
    const auto field = std::find_if(fields_.begin(), fields_.end(), same_name);
    if (field == fields_.end()) {
      refuse_unknown(owner, name, fields_);
    }
    try {
      field->set(value);
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(std::string(owner) + ", " + error.what());
    }
  }
}

OptionMap OptionFields::show() const {
  OptionMap values;
  for (const OptionField& field : fields_) values[field.name] = field.get();
  return values;
}

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

std::uint64_t hash_of(const OptionMap& values) {
  std::string text;
  for (const auto& [name, value] : values) text += name + "=" + to_text(value) + ";";
  return hash_of(text);
}

void require_option(bool condition, std::string_view owner, const std::string& sentence) {
  if (!condition) throw std::invalid_argument(std::string(owner) + ": " + sentence);
}

}  // namespace kadam
