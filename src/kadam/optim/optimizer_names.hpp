// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/options/option_value.hpp>

#include <string>
#include <string_view>
#include <vector>

/// The names, traits and options of optimizers, for files that make none and do not need Kokkos.
namespace kadam {

/// The names that make_optimizer() takes, in the order of the documentation; those of the program come last.
[[nodiscard]] std::vector<std::string> optimizer_names();

/// The kind of algorithm that an optimizer is. Code that treats some optimizers differently asks for these
/// traits, and compares no names.
struct OptimizerTraits {
  /// Every step exchanges the exact mean of the gradients: nothing is compressed.
  bool dense = false;
  /// The option that gives the length of the warm-up in steps; "": there is no warm-up.
  std::string warmup = {};
  /// The length of the warm-up must be given: by the option `warmup` or, with zero_one_adam, by
  /// lr_warmup_steps.
  bool needs_warmup = false;
  /// Coordinates whose variance is 0 when it is frozen are left out of the code: inactive_elements().
  bool freezes = false;
  /// Sends the largest entries of a residual, as the options density, select_block and exchange say.
  bool sparse = false;
  /// Each rank has m and v of its own gradients.
  bool local_moments = false;
  /// Each rank has a shard of m, v and the mean gradient; clipping goes by the norm of the mean gradient.
  bool shards = false;
  /// Keeps figures of each tensor: the workspace grows with the number of tensors.
  bool per_tensor = false;
  /// Treats matrices in another way than other tensors: a plan, which knows only d, assumes square matrices.
  bool matrices = false;
  /// Parameters may differ between ranks until the next synchronisation, at least with some options.
  bool ranks_differ = false;
  /// When to try this optimizer before all others on a slow network, in words that follow "where"; "": there
  /// is no such case. It is about the loss, of which a plan knows nothing.
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

/// The options of an optimizer with their defaults, aliases included. Errors: as make_optimizer, for an
/// unknown name.
[[nodiscard]] std::vector<OptionHelp> optimizer_options(std::string_view name);
/// Whether the optimizer has an option of this name. Errors: as make_optimizer, for an unknown optimizer.
[[nodiscard]] bool has_option(std::string_view optimizer, std::string_view option);

}  // namespace kadam
