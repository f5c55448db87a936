// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/optimizer_names.hpp>
#include <report/palette.hpp>

#include <array>
#include <map>

namespace kadam::report {
namespace {

/// Colours of Okabe and Ito and of Tol, which people with any kind of colour vision tell apart.
constexpr std::array<const char*, 11> colours = {"#0072b2", "#d55e00", "#e69f00", "#332288",
                                                 "#999933", "#009e73", "#56b4e9", "#cc79a7",
                                                 "#882255", "#44aa99", "#ddaa33"};
constexpr std::array<const char*, 2> dense_colours = {"#000000", "#888888"};
constexpr std::array<const char*, 5> dash_patterns = {"", "9 4", "3 3", "12 3 3 3", "6 3 1 3"};

/// Gives names their colours: optimizers in the order of their table, others behind them as they come.
class Palette {
 public:
  Palette() {
    for (const std::string& name : optimizer_names()) (void)colour_of(name, optimizer_traits(name).dense);
  }
  const std::string& colour_of(const std::string& name, bool dense = false) {
    const auto [known, is_new] = colours_.try_emplace(name);
    if (is_new && dense) known->second = dense_colours.at(dense_++ % dense_colours.size());
    if (is_new && !dense) known->second = colours.at(others_++ % colours.size());
    return known->second;
  }

 private:
  std::map<std::string, std::string> colours_;
  std::size_t dense_ = 0;
  std::size_t others_ = 0;
};

}  // namespace

std::vector<LegendEntry> styles_of(const std::vector<Run>& runs) {
  std::vector<LegendEntry> styles;
  std::map<std::string, std::size_t> times_seen;
  Palette palette;
  for (const Run& run : runs) {
    const std::size_t times = times_seen[run.optimizer]++;
    styles.push_back(
        {run.label, palette.colour_of(run.optimizer), dash_patterns.at(times % dash_patterns.size())});
  }
  return styles;
}

}  // namespace kadam::report
