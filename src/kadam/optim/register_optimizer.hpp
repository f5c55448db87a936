// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/any_quantiser.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <kadam/options/option_fields.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kadam {

/// A row of the table of algorithms: everything that make_optimizer(), plans and lists of optimizers know of
/// an algorithm.
struct AlgorithmRow {
  std::string name;
  OptimizerTraits traits;
  /// make_optimizer() without the agreement of the ranks.
  std::unique_ptr<Optimizer> (*make)(std::string_view, const OptionMap&, TensorLayout,
                                     const std::shared_ptr<Communicator>&,
                                     const std::vector<ParameterGroup>&);
  /// optimizer_cost().
  AlgorithmCost (*cost)(std::string_view, const OptionMap&, std::int64_t, const Arrangement&);
  /// optimizer_options().
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

/// The words of the option `code` that are codes of scale blocks; none if there is no such option.
template <class Options>
std::vector<std::string> codes_of() {
  Options options;
  std::vector<std::string> codes;
  for (const OptionField& field : fields_of(options)) {
    if (field.name != "code") continue;
    for (const std::string& name : code_names()) {
      if (std::find(field.words.begin(), field.words.end(), name) != field.words.end()) codes.push_back(name);
    }
  }
  return codes;
}

template <class Options>
Options valid_options(std::string_view name, const OptionMap& values,
                      const std::vector<ParameterGroup>& groups) {
  auto options = read_options<Options>(name, values);
  options.common.groups = groups;
  options.common.validate(name);
  options.validate(name);
  return options;
}

template <class Type, class Options>
std::unique_ptr<Optimizer> make(std::string_view name, const OptionMap& values, TensorLayout layout,
                                const std::shared_ptr<Communicator>& communicator,
                                const std::vector<ParameterGroup>& groups) {
  const auto options = valid_options<Options>(name, values, groups);
  return std::make_unique<Optimizer>(
      Optimizer::Setup{std::string(name), show_options(options), options.common, std::move(layout),
                       communicator,
                       [options, owner = std::string(name)](const CommonOptions& common) {
                         Options with = options;
                         with.common = common;
                         with.common.validate(owner);
                         with.validate(owner);
                       }},
      [&](const Problem& problem) { return Type::cost(options, problem); },
      [&](Workplace& at) { return std::make_unique<Type>(options, at); });
}

template <class Type, class Options>
AlgorithmCost cost(std::string_view name, const OptionMap& values, std::int64_t elements,
                   const Arrangement& ranks) {
  const auto options = valid_options<Options>(name, values, {});
  require_option(options.common.dense_below == 0, name,
                 "option 'dense_below': a plan knows d but not the tensors; leave the option out");
  return Type::cost(options,
                    Problem::of_elements(elements, ranks, options.common, optimizer_traits(name).matrices));
}

}  // namespace detail

/// Makes the row of the class `Type`, which must have everything that the comment of Algorithm asks for. A
/// default-constructed Options holds the defaults; when its validate() is called, its common options have
/// been validated. traits.codes is set here, from the options.
template <class Type, class Options = typename Type::Options>
[[nodiscard]] AlgorithmRow algorithm_row(std::string name, OptimizerTraits traits) {
  traits.codes = detail::codes_of<Options>();
  return {std::move(name), std::move(traits), detail::make<Type, Options>, detail::cost<Type, Options>,
          detail::help_of<Options>};
}

/// Adds an algorithm of the program's own to the table. From then on make_optimizer() makes it by its name,
/// through every interface, and optimizer_names() lists it: see examples/lion/lion.cpp. Call it on all ranks,
/// before other threads read the table. Errors: std::invalid_argument if the name is taken.
void register_optimizer(AlgorithmRow row);

}  // namespace kadam
