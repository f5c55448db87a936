// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/options/option_value.hpp>

#include <string>
#include <string_view>
#include <vector>

/// Which optimizers there are, and their options: for files that make none, and need no Kokkos.
namespace kadam {

/// The names that make_optimizer knows, in the order of the documentation.
[[nodiscard]] std::vector<std::string> optimizer_names();

/// What kind of algorithm an optimizer is: what lists of optimizers ask in place of their names.
struct OptimizerTraits {
  /// Every step exchanges the exact mean of the gradients: nothing is compressed.
  bool dense = false;
  /// The option that says how many steps exchange it before others follow ("": there are none).
  std::string warmup = {};
  /// That option has no default.
  bool needs_warmup = false;
  /// Coordinates whose variance is 0 when it is frozen are left out of the code: inactive_elements().
  bool freezes = false;
  /// Sends the largest entries of a residual, as the options density, select_block and exchange say.
  bool sparse = false;
  /// m and v are of each rank's own gradients.
  bool local_moments = false;
  /// m, v and the mean gradient lie in shards, and clipping goes by the norm of what was averaged.
  bool shards = false;
  /// Keeps figures of each tensor, whose number adds to the workspace.
  bool per_tensor = false;
  /// Treats tensors that are matrices as such: a plan, which knows d alone, takes square ones.
  bool matrices = false;
  /// Parameters may differ between ranks until the next synchronisation, at least with some options.
  bool ranks_differ = false;
  /// When to try it before all others on a slow network, if ever: what decides the loss, of which a plan
  /// knows nothing.
  std::string suits = {};
  /// The codes of scale blocks that its option `code` takes; empty without one.
  std::vector<std::string> codes = {};
};

/// The traits of an optimizer. Errors: as make_optimizer, for an unknown name.
[[nodiscard]] const OptimizerTraits& optimizer_traits(std::string_view name);

/// An option as documentation shows it.
struct OptionHelp {
  std::string name;
  OptionValue value;  ///< the default
  std::string help;
};

/// The options of an optimizer with their defaults. Errors: as make_optimizer, for an unknown name.
[[nodiscard]] std::vector<OptionHelp> optimizer_options(std::string_view name);
/// Whether it has an option of that name. Errors: as make_optimizer, for an unknown optimizer.
[[nodiscard]] bool has_option(std::string_view optimizer, std::string_view option);

}  // namespace kadam
