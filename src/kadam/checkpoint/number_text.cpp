// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/number_text.hpp>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kadam::checkpoint {
namespace {

template <class Number>
std::string text_of(Number value) {
  char text[64];
  if constexpr (std::is_floating_point_v<Number>) {
    return {text, std::to_chars(text, text + sizeof(text), value, std::chars_format::hex).ptr};
  } else {
    return {text, std::to_chars(text, text + sizeof(text), value).ptr};
  }
}

template <class Number>
bool read_number(std::string_view text, Number& value) {
  Number got{};
  std::from_chars_result result{};
  if constexpr (std::is_floating_point_v<Number>) {
    result = std::from_chars(text.data(), text.data() + text.size(), got, std::chars_format::hex);
  } else {
    result = std::from_chars(text.data(), text.data() + text.size(), got);
  }
  if (text.empty() || result.ec != std::errc{} || result.ptr != text.data() + text.size()) return false;
  value = got;
  return true;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

struct ToText {
  std::string operator()(const bool* value) const { return *value ? "true" : "false"; }
  std::string operator()(const std::int64_t* value) const { return text_of(*value); }
  std::string operator()(const double* value) const { return text_of(*value); }
  std::string operator()(const std::optional<double>* value) const {
    return *value ? text_of(**value) : "none";
  }
  std::string operator()(const std::vector<double>* values) const {
    std::string text;
    for (const double value : *values) text.append(text.empty() ? 0 : 1, ' ').append(text_of(value));
    return text;
  }
};

struct FromText {
  const std::string& text;

  bool operator()(bool* value) const {
    if (text != "true" && text != "false") return false;
    *value = text == "true";
    return true;
  }
  bool operator()(std::int64_t* value) const { return read_number(text, *value); }
  bool operator()(double* value) const { return read_number(text, *value); }
  bool operator()(std::optional<double>* value) const {
    double number = 0.0;
    if (text != "none" && !read_number(text, number)) return false;
    *value = text == "none" ? std::nullopt : std::optional(number);
    return true;
  }
  bool operator()(std::vector<double>* values) const {
    const std::vector<std::string> words = words_of(text);
    std::vector<double> numbers(words.size());
    for (std::size_t k = 0; k < words.size(); ++k) {
      if (!read_number(words[k], numbers[k])) return false;
    }
    if (numbers.size() != values->size()) return false;
    *values = std::move(numbers);
    return true;
  }
};

}  // namespace

std::string to_text(const StateNumber::Place& place) {
  return std::visit(ToText{}, place);
}

bool from_text(const std::string& text, const StateNumber::Place& place) {
  return std::visit(FromText{text}, place);
}

std::string to_text(const Placement& placement) {
  std::string text = text_of(placement.elements);
  for (const std::int64_t value : {placement.range.begin, placement.range.end, std::int64_t{placement.copies},
                                   std::int64_t{placement.copy}}) {
    text.append(1, ' ').append(text_of(value));
  }
  return text;
}

std::optional<Placement> placement_from(const std::string& text) {
  const std::vector<std::string> words = words_of(text);
  Placement p;
  const bool is_read = words.size() == 5 && read_number(words[0], p.elements) &&
                       read_number(words[1], p.range.begin) && read_number(words[2], p.range.end) &&
                       read_number(words[3], p.copies) && read_number(words[4], p.copy);
  const bool is_possible = p.range.begin >= 0 && p.range.begin <= p.range.end && p.range.end <= p.elements &&
                           p.copy >= 0 && p.copy < p.copies;
  if (!is_read || !is_possible) return std::nullopt;
  return p;
}

}  // namespace kadam::checkpoint
