// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <configuration/keys.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <launch/optimizer_steps.hpp>
#include <launch/session.hpp>
#include <replay/choice.hpp>

#include <utility>

namespace kadam::replay {

std::unique_ptr<Optimizer> Choice::make(const ReplayCase& recorded, std::int64_t steps,
                                        const std::shared_ptr<Communicator>& communicator) const {
  auto optimizer = make_optimizer(algorithm, options, recorded.tensors, communicator, groups);
  launch::require_learning_rates(*optimizer, steps);
  return optimizer;
}

Choice choose(const ReplayCase& recorded, const Wishes& wishes) {
  configuration::OptimizerSettings settings;
  settings.name = recorded.algorithm;
  settings.groups = recorded.groups;
  settings = configuration::read_optimizer(wishes.config, wishes.assignments, std::move(settings));
  if (!wishes.algorithm.empty()) settings.name = wishes.algorithm;
  if (settings.name.empty()) {
    throw launch::UsageError((recorded.folder / "case.json").string() +
                             " names no algorithm: give --optimizer NAME");
  }
  OptionMap options = settings.options_for(settings.name);
  if (settings.name == recorded.algorithm) options.insert(recorded.options.begin(), recorded.options.end());
  return {settings.name, std::move(options), settings.groups};
}

Choice dense_beside(const Choice& choice) {
  const char* const name = has_option(choice.algorithm, "matrices")    ? "muon"
                           : has_option(choice.algorithm, "trust_min") ? "lamb"
                                                                       : "adam";
  Choice dense{name, {}, choice.groups};
  for (const auto& [option, value] : choice.options) {
    if (has_option(name, option)) dense.options[option] = value;
  }
  return dense;
}

}  // namespace kadam::replay
