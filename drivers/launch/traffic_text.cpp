// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/quantities.hpp>
#include <launch/traffic_text.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace kadam::launch {

std::string traffic_text(const std::vector<PlannedTraffic>& plan) {
  const auto is_nothing = [](const PlannedTraffic& planned) { return planned.bytes == 0; };
  if (std::all_of(plan.begin(), plan.end(), is_nothing)) return "nothing, it is alone";
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
