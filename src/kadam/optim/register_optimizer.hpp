// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/make_optimizer.hpp>
#include <kadam/optim/options.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace kadam {

/// A row of the table of algorithms: all that make_optimizer() and lists of optimizers know of it.
struct Algorithm {
  std::string name;
  OptimizerTraits traits;
  std::unique_ptr<Optimizer> (*make)(std::string_view, const OptionMap&, TensorLayout,
                                     const std::shared_ptr<Communicator>&,
                                     const std::vector<ParameterGroup>&);
  std::vector<OptionHelp> (*options)();
};

namespace detail {

template <class Options>
std::vector<OptionField> fields_of(Options& options) {
  OptionFields fields;
  options.describe(fields);
  return fields.fields();
}

template <class Options>
std::vector<OptionHelp> help_of() {
  Options options;
  std::vector<OptionHelp> help;
  for (const OptionField& field : fields_of(options)) help.push_back({field.name, field.get(), field.help});
  return help;
}

/// The words of the option `code`; none without it.
template <class Options>
std::vector<std::string> codes_of() {
  Options options;
  for (const OptionField& field : fields_of(options)) {
    if (field.name == "code") return field.words;
  }
  return {};
}

template <class Type, class Options>
std::unique_ptr<Optimizer> make(std::string_view name, const OptionMap& values, TensorLayout layout,
                                const std::shared_ptr<Communicator>& communicator,
                                const std::vector<ParameterGroup>& groups) {
  auto options = read_options<Options>(name, values);
  options.common.groups = groups;
  options.validate();
  if constexpr (std::is_same_v<Options, typename Type::Options>) {
    return std::make_unique<Type>(options, std::move(layout), communicator);
  } else {  // one of several names
    return std::make_unique<Type>(name, options, std::move(layout), communicator);
  }
}

}  // namespace detail

/// The row of the class `Type`, an Optimizer. It has a struct Options with a member CommonOptions common,
/// with describe(OptionFields&), whose values before are the defaults, and with validate(); and a constructor
/// from these, a TensorLayout and a std::shared_ptr<Communicator>. traits.codes follow from the options.
template <class Type, class Options = typename Type::Options>
[[nodiscard]] Algorithm algorithm(std::string name, OptimizerTraits traits) {
  traits.codes = detail::codes_of<Options>();
  return {std::move(name), std::move(traits), detail::make<Type, Options>, detail::help_of<Options>};
}

/// Adds an algorithm of the program's own to the table. From then on make_optimizer() makes it by its name,
/// through every interface, and optimizer_names() lists it: see examples/lion.cpp. To be called by all ranks,
/// before threads look at the table. Errors: std::invalid_argument if there is one of that name.
void register_optimizer(Algorithm algorithm);

}  // namespace kadam
