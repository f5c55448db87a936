// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>
#include <map>
#include <report/palette.hpp>

namespace kadam::report {
namespace {

/// Colours of Okabe and Ito and of Tol, which people with any kind of colour vision tell apart. Optimizers
/// that are often compared with each other have the first.
const std::map<std::string, std::string, std::less<>>& known_colours() {
  static const std::map<std::string, std::string, std::less<>> all = {
      {"adam", "#000000"},           {"lamb", "#888888"},
      {"onebit_adam", "#0072b2"},    {"zero_one_adam", "#e69f00"},
      {"loco", "#009e73"},           {"apmsqueeze", "#d55e00"},
      {"divisible_adam", "#cc79a7"}, {"locally_accumulated_adam", "#56b4e9"},
      {"onebit_lamb", "#332288"},    {"efficient_adam", "#999933"},
  };
  return all;
}

/// For names that are not among them.
constexpr std::array<const char*, 3> other_colours = {"#882255", "#44aa99", "#ddaa33"};
constexpr std::array<const char*, 5> dash_patterns = {"", "9 4", "3 3", "12 3 3 3", "6 3 1 3"};

}  // namespace

std::vector<LegendEntry> styles_of(const std::vector<Run>& runs) {
  std::vector<LegendEntry> styles;
  std::map<std::string, std::size_t> times_seen;
  std::map<std::string, std::string> strangers;
  for (const Run& run : runs) {
    const auto known = known_colours().find(run.optimizer);
    std::string colour;
    if (known != known_colours().end()) {
      colour = known->second;
    } else {
      colour = strangers.try_emplace(run.optimizer, other_colours.at(strangers.size() % other_colours.size()))
                   .first->second;
    }
    const std::size_t times = times_seen[run.optimizer]++;
    styles.push_back({run.label, colour, dash_patterns.at(times % dash_patterns.size())});
  }
  return styles;
}

}  // namespace kadam::report
