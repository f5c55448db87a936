// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer.hpp>
#include <replay/replay_case.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace kadam::replay {

/// An optimizer that is to run over a case.
struct Choice {
  std::string algorithm;
  OptionMap options;
  std::vector<ParameterGroup> groups;

  /// Collective. Errors: as make_optimizer(); UsageError for a list of learning rates that ends too early.
  [[nodiscard]] std::unique_ptr<Optimizer> make(const ReplayCase& recorded, std::int64_t steps,
                                                const std::shared_ptr<Communicator>& communicator) const;
};

/// What the command line says of it.
struct Wishes {
  std::string algorithm;  ///< empty: that of the file, or of the case
  std::filesystem::path config;
  std::vector<std::string> assignments;
};

/// The case's algorithm with its options, changed by the file and by the assignments; or another algorithm,
/// which takes none of the case's options. Groups are the case's, unless others are given.
/// Errors: UsageError where nobody names an algorithm; std::runtime_error as configuration::read_optimizer().
[[nodiscard]] Choice choose(const ReplayCase& recorded, const Wishes& wishes);

/// The dense optimizer whose way this one is to follow: `muon` for those with its matrices, `lamb` for those
/// with its trust ratio, else `adam`; with the same values of the options that both have.
[[nodiscard]] Choice dense_beside(const Choice& choice);

}  // namespace kadam::replay
