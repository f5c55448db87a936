// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/make_optimizer.hpp>

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam::test {

/// Names of the optimizers of a kind, in the order of the table. are: a member of OptimizerTraits, as in
/// optimizers_that(&OptimizerTraits::sparse), or a function of OptimizerTraits. Errors: std::logic_error if
/// there is none, because a test over no optimizer would prove nothing.
template <class Are>
std::vector<std::string> optimizers_that(Are are) {
  std::vector<std::string> names;
  for (const std::string& name : optimizer_names()) {
    if (std::invoke(are, optimizer_traits(name))) names.push_back(name);
  }
  if (names.empty()) throw std::logic_error("no optimizer is of this kind");
  return names;
}

/// Names of the optimizers that can be made with these options on one rank. Errors: std::logic_error if there
/// is none.
inline std::vector<std::string> optimizers_that_take(const OptionMap& options) {
  std::vector<std::string> names;
  for (const std::string& name : optimizer_names()) {
    try {
      (void)make_optimizer(name, options, TensorLayout({{"w", 0, 10}}), Communicator::self());
      names.push_back(name);
    } catch (const std::invalid_argument&) {
      continue;
    }
  }
  if (names.empty()) throw std::logic_error("no optimizer takes these options");
  return names;
}

}  // namespace kadam::test
