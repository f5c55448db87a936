// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/option_value.hpp>

#include <string>
#include <string_view>
#include <vector>

/// Which optimizers there are, and their options: for files that make none, and need no Kokkos.
namespace kadam {

/// The names that make_optimizer knows, in the order of the documentation.
[[nodiscard]] std::vector<std::string> optimizer_names();

/// An option as documentation shows it.
struct OptionHelp {
  std::string name;
  OptionValue value;  ///< the default
  std::string help;
};

/// The options of an optimizer with their defaults. Errors: as make_optimizer, for an unknown name.
[[nodiscard]] std::vector<OptionHelp> optimizer_options(std::string_view name);

}  // namespace kadam
