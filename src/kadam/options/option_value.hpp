// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace kadam {

/// The value of an option, as configuration files, C and Fortran give it. It is made implicitly from a flag,
/// a number, a text or a list of numbers, as in OptionMap{{"lr", 0.001}, {"warmup_steps", 100}, {"scale",
/// "rms"}, {"lr_scale", {0.5, 1.0}}}.
///
/// Errors: std::out_of_range for an unsigned number above 2^63 - 1.
class OptionValue : public std::variant<bool, std::int64_t, double, std::string, std::vector<double>> {
 public:
  OptionValue() = default;
  template <std::same_as<bool> Bool>
  OptionValue(Bool flag) : variant(flag) {}
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) OptionValue(Integer number) : variant(to_int64(number)) {}
  template <std::floating_point Real>
  OptionValue(Real number) : variant(static_cast<double>(number)) {}
  OptionValue(const char* text) : variant(std::string(text)) {}
  OptionValue(std::string_view text) : variant(std::string(text)) {}
  OptionValue(std::string text) : variant(std::move(text)) {}
  OptionValue(std::vector<double> numbers) : variant(std::move(numbers)) {}
  OptionValue(std::initializer_list<double> numbers) : variant(std::vector<double>(numbers)) {}

 private:
  template <class Integer>
  static std::int64_t to_int64(Integer number) {
    if (std::in_range<std::int64_t>(number)) return static_cast<std::int64_t>(number);
    throw std::out_of_range("kadam::OptionValue: " + std::to_string(number) + " is above 2^63 - 1");
  }
};

/// Options by name, as in docs/configuration.md.
using OptionMap = std::map<std::string, OptionValue, std::less<>>;

/// A value as people write it: 0.1, true, "auto", [0.1, 0.2].
[[nodiscard]] std::string to_text(const OptionValue& value);

}  // namespace kadam
