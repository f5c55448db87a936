// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/learning_rates.hpp>
#include <launch/session.hpp>

#include <fmt/format.h>

namespace kadam::launch {

void require_learning_rates(const Optimizer& optimizer, std::int64_t steps) {
  const OptionMap options = optimizer.options();
  const auto lr = options.find("lr");
  if (lr == options.end()) return;
  const auto* list = std::get_if<std::vector<double>>(&lr->second);
  if (list == nullptr || static_cast<std::int64_t>(list->size()) >= steps) return;
  throw UsageError(fmt::format("{}: 'lr' is a list of {} entries for a run of {} steps: give one per step",
                               optimizer.name(), list->size(), steps));
}

}  // namespace kadam::launch
