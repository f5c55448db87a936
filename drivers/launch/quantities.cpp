// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/quantities.hpp>
#include <launch/session.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>

namespace kadam::launch {
namespace {

struct Unit {
  std::string_view name;
  double size;
};

/// The number in front of a unit, times the unit; nothing if that is not what the text is.
template <std::size_t Count>
std::optional<double> value_of(const std::string& text, const std::array<Unit, Count>& units) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0) return std::nullopt;
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number)) return std::nullopt;
  const std::string_view rest(end);
  for (const Unit& unit : units) {
    if (rest == unit.name) return number * unit.size;
  }
  return std::nullopt;
}

[[noreturn]] void refuse(const std::string& option, const std::string& text, const char* expected) {
  throw UsageError(fmt::format("{} {}: expected {}", option, text, expected));
}

/// "3h30min"
std::optional<double> seconds_in_units(const std::string& text) {
  constexpr std::array<Unit, 6> units = {
      {{"", 1.0}, {"s", 1.0}, {"min", 60.0}, {"m", 60.0}, {"h", 3600.0}, {"d", 86400.0}}};
  double seconds = 0.0;
  std::size_t begin = 0;
  while (begin < text.size()) {
    // A number, then letters: up to the next number.
    const std::size_t letters = std::min(text.find_first_not_of("0123456789.", begin), text.size());
    const std::size_t end = std::min(text.find_first_of("0123456789.", letters), text.size());
    const auto part = value_of(text.substr(begin, end - begin), units);
    if (!part || letters == begin) return std::nullopt;
    seconds += *part;
    begin = end;
  }
  return seconds;
}

/// "2:15:00"
std::optional<double> seconds_with_colons(const std::string& text) {
  double seconds = 0.0;
  std::istringstream parts(text + ":");
  for (std::string part; std::getline(parts, part, ':');) {
    const bool is_number = !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
    if (!is_number || part.size() > 9) return std::nullopt;
    seconds = 60.0 * seconds + std::stod(part);
  }
  return seconds;
}

/// The largest unit that leaves 1 or more in front of it.
template <std::size_t Count>
std::string in_units(double value, const std::array<Unit, Count>& largest_first) {
  for (const Unit& unit : largest_first) {
    if (value >= 0.9995 * unit.size) return fmt::format("{:.3g} {}", value / unit.size, unit.name);
  }
  return fmt::format("{:.3g} {}", value / largest_first.back().size, largest_first.back().name);
}

}  // namespace

double seconds_of(const std::string& option, const std::string& text) {
  constexpr std::array<Unit, 5> units = {{{"", 1.0}, {"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
  const auto value = value_of(text, units);
  if (!value || *value < 0.0) refuse(option, text, "seconds, as in 250ms, 50us or 1.5s");
  return *value;
}

double duration_of(const std::string& option, const std::string& text) {
  const std::optional<double> seconds =
      text.find(':') == std::string::npos ? seconds_in_units(text) : seconds_with_colons(text);
  if (!seconds || !(*seconds > 0.0)) refuse(option, text, "a duration, as in 90s, 15min, 3h30min or 2:15:00");
  return *seconds;
}

double rate_of(const std::string& option, const std::string& text) {
  constexpr std::array<Unit, 14> units = {{{"bit", 0.125},
                                           {"kbit", 125.0},
                                           {"mbit", 125e3},
                                           {"gbit", 125e6},
                                           {"tbit", 125e9},
                                           {"bit/s", 0.125},
                                           {"kbit/s", 125.0},
                                           {"mbit/s", 125e3},
                                           {"gbit/s", 125e6},
                                           {"tbit/s", 125e9},
                                           {"mb", 1e6},
                                           {"gb", 1e9},
                                           {"mb/s", 1e6},
                                           {"gb/s", 1e9}}};
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto value = value_of(lower, units);
  if (!value || *value <= 0.0) refuse(option, text, "a rate, as in 100mbit, 25gbit or 10GB/s");
  return *value;
}

double bytes_of(const std::string& option, const std::string& text) {
  constexpr std::array<Unit, 6> units = {{{"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12},
                                          {"MiB", 1048576.0},
                                          {"GiB", 1073741824.0},
                                          {"TiB", 1099511627776.0}}};
  const auto value = value_of(text, units);
  if (!value || *value <= 0.0) refuse(option, text, "an amount of memory, as in 40GB or 24GiB");
  return *value;
}

std::int64_t count_of(const std::string& option, const std::string& text) {
  constexpr std::array<Unit, 5> units = {{{"", 1.0}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"B", 1e9}}};
  const auto value = value_of(text, units);
  if (!value || *value < 1.0 || *value > 1e15 || *value != std::floor(*value)) {
    refuse(option, text, "a whole number, 1 or more, as in 340M, 1.3B or 25000");
  }
  return static_cast<std::int64_t>(*value);
}

std::vector<int> counts_of(const std::string& option, const std::string& text) {
  std::vector<int> counts;
  std::istringstream parts(text);
  std::string part;
  while (std::getline(parts, part, ',')) {
    const std::int64_t count = count_of(option, part);
    if (count > std::numeric_limits<int>::max() / 4) refuse(option, text, "at most 536870911 ranks");
    counts.push_back(static_cast<int>(count));
  }
  if (counts.empty()) refuse(option, text, "whole numbers, as in 2,4,64");
  std::sort(counts.begin(), counts.end());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t k = 0; k < digits.size(); ++k) {
    const bool group_starts = k > 0 && digits[k - 1] != '-' && (digits.size() - k) % 3 == 0;
    if (group_starts) text += ',';
    text += digits[k];
  }
  return text;
}

std::string seconds_text(double seconds) {
  constexpr std::array<Unit, 4> units = {{{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}}};
  return seconds == 0.0 ? "0" : in_units(seconds, units);
}

std::string rate_text(double bytes_per_second) {
  constexpr std::array<Unit, 4> units = {
      {{"Tbit/s", 125e9}, {"Gbit/s", 125e6}, {"Mbit/s", 125e3}, {"kbit/s", 125.0}}};
  return in_units(bytes_per_second, units);
}

std::string bytes_text(double bytes) {
  // The limits are where rounding would make a thousand.
  if (bytes < 999.5) return fmt::format("{:.0f} B", bytes);
  if (bytes < 999.95e3) return fmt::format("{:.1f} kB", bytes / 1e3);
  if (bytes < 999.995e6) return fmt::format("{:.2f} MB", bytes / 1e6);
  if (bytes < 999.995e9) return fmt::format("{:.2f} GB", bytes / 1e9);
  return fmt::format("{:.2f} TB", bytes / 1e12);
}

std::string traffic_text(const std::vector<PlannedTraffic>& plan) {
  const auto is_nothing = [](const PlannedTraffic& planned) { return planned.bytes == 0; };
  if (std::all_of(plan.begin(), plan.end(), is_nothing)) return "nothing, because there is only one rank";
  std::vector<std::string> phases;
  std::map<std::string, std::vector<std::string>> parts;
  for (const PlannedTraffic& planned : plan) {
    if (!parts.contains(planned.phase)) phases.push_back(planned.phase);
    std::vector<std::string>& of_phase = parts[planned.phase];
    if (is_nothing(planned)) continue;
    std::string text = bytes_text(static_cast<double>(planned.bytes));
    if (planned.traffic == Traffic::node) text += " inside its node";
    if (planned.every > 1) text += fmt::format(" every {} steps", planned.every);
    of_phase.push_back(text);
  }
  std::vector<std::string> all;
  for (const std::string& phase : phases) {
    if (parts[phase].empty()) parts[phase].push_back(bytes_text(0.0));
    all.push_back(fmt::format("{} in a {} step", fmt::join(parts[phase], " + "), phase));
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

}  // namespace kadam::launch
