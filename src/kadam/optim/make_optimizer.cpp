// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/adam.hpp>
#include <kadam/optim/apmsqueeze.hpp>
#include <kadam/optim/divisible_adam.hpp>
#include <kadam/optim/efficient_adam.hpp>
#include <kadam/optim/lamb.hpp>
#include <kadam/optim/locally_accumulated_adam.hpp>
#include <kadam/optim/loco.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/optim/onebit_adam.hpp>
#include <kadam/optim/onebit_lamb.hpp>
#include <kadam/optim/zero_one_adam.hpp>

#include <array>
#include <exception>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

using Groups = std::vector<ParameterGroup>;
using SharedCommunicator = std::shared_ptr<Communicator>;

struct Algorithm {
  std::string_view name;
  std::unique_ptr<Optimizer> (*make)(std::string_view, const OptionMap&, TensorLayout, SharedCommunicator,
                                     const Groups&);
  std::vector<OptionHelp> (*options)();
};

template <class Options>
std::vector<OptionHelp> help_of() {
  Options options;
  OptionFields fields;
  options.describe(fields);
  std::vector<OptionHelp> help;
  for (const OptionField& field : fields.fields()) help.push_back({field.name, field.get(), field.help});
  return help;
}

template <class Type>
std::unique_ptr<Optimizer> make(std::string_view name, const OptionMap& values, TensorLayout layout,
                                SharedCommunicator communicator, const Groups& groups) {
  auto options = read_options<typename Type::Options>(name, values);
  options.common.groups = groups;
  options.validate();
  return std::make_unique<Type>(options, std::move(layout), std::move(communicator));
}

const std::array<Algorithm, 10> algorithms = {{
    {"adam", make<Adam>, help_of<Adam::Options>},
    {"lamb", make<Lamb>, help_of<Lamb::Options>},
    {"onebit_adam", make<OnebitAdam>, help_of<OnebitAdam::Options>},
    {"apmsqueeze", make<Apmsqueeze>, help_of<Apmsqueeze::Options>},
    {"zero_one_adam", make<ZeroOneAdam>, help_of<ZeroOneAdam::Options>},
    {"onebit_lamb", make<OnebitLamb>, help_of<OnebitLamb::Options>},
    {"efficient_adam", make<EfficientAdam>, help_of<EfficientAdam::Options>},
    {"loco", make<Loco>, help_of<Loco::Options>},
    {"locally_accumulated_adam", make<LocallyAccumulatedAdam>, help_of<LocallyAccumulatedAdam::Options>},
    {"divisible_adam", make<DivisibleAdam>, help_of<DivisibleAdam::Options>},
}};

const Algorithm& find_algorithm(std::string_view name) {
  std::string known;
  for (const Algorithm& algorithm : algorithms) {
    if (algorithm.name == name) return algorithm;
    known += (known.empty() ? "" : ", ") + std::string(algorithm.name);
  }
  throw std::invalid_argument("there is no optimizer '" + std::string(name) + "': choose one of " + known);
}

}  // namespace

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  names.reserve(algorithms.size());
  for (const Algorithm& algorithm : algorithms) names.emplace_back(algorithm.name);
  return names;
}

std::vector<OptionHelp> optimizer_options(std::string_view name) {
  return find_algorithm(name).options();
}

std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const OptionMap& options,
                                          TensorLayout layout,
                                          const std::shared_ptr<Communicator>& communicator,
                                          const Groups& groups) {
  if (communicator == nullptr) {
    throw std::invalid_argument(
        "kadam::make_optimizer: expected a communicator, got none: Communicator::self() is the one for a "
        "single rank");
  }
  std::unique_ptr<Optimizer> optimizer;
  std::exception_ptr failure;
  try {
    optimizer = find_algorithm(name).make(name, options, std::move(layout), communicator, groups);
  } catch (...) {
    failure = std::current_exception();
  }
  communicator->require_success(failure);
  optimizer->require_agreement();
  return optimizer;
}

}  // namespace kadam
