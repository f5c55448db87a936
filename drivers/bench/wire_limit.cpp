// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <bench/wire_limit.hpp>
#include <cmath>
#include <locale>
#include <span>
#include <sstream>
#include <string_view>

namespace kadam::bench {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 4> rates = {{{"bit", 1.0}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}}};
constexpr std::array<Unit, 3> times = {{{"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}}};

/// A number, directly followed by one of the units.
std::optional<double> parse(const std::string& text, std::span<const Unit> units) {
  const std::size_t end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == std::string::npos) return std::nullopt;
  std::istringstream stream(text.substr(0, end));
  stream.imbue(std::locale::classic());
  double number = 0.0;
  if (!(stream >> number) || stream.peek() != std::istringstream::traits_type::eof()) return std::nullopt;
  for (const Unit& unit : units) {
    if (text.substr(end) == unit.name) return number * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> parse_rate(const std::string& text) {
  const auto rate = parse(text, rates);
  return rate && *rate > 0.0 && std::isfinite(*rate) ? rate : std::nullopt;
}

std::optional<double> parse_latency(const std::string& text) {
  return parse(text, times);
}

}  // namespace kadam::bench
