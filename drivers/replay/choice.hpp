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

/// An optimizer to run over a case, with its options and groups.
struct Choice {
  std::string algorithm;
  OptionMap options;
  std::vector<ParameterGroup> groups;

  /// Makes the optimizer. Collective. Errors: as make_optimizer(); UsageError for a list of learning rates
  /// with fewer entries than `steps`.
  [[nodiscard]] std::unique_ptr<Optimizer> make(const ReplayCase& recorded, std::int64_t steps,
                                                const std::shared_ptr<Communicator>& communicator) const;
};

/// Choice of the optimizer on the command line.
struct Wishes {
  std::string algorithm;         ///< empty: that of the file, or of the case
  std::filesystem::path config;  ///< the file; may be empty
  std::vector<std::string> assignments;
};

/// The case's algorithm with its options, overridden by the file and the assignments; or another algorithm,
/// without the case's options. Groups are the case's unless others are given. Errors: UsageError if neither
/// case, file nor command line names an algorithm; std::runtime_error as configuration::read_optimizer().
[[nodiscard]] Choice choose(const ReplayCase& recorded, const Wishes& wishes);

/// The dense optimizer to compare with: `muon` for algorithms with spectral matrices, `lamb` for those with a
/// trust ratio, else `adam`; with the same values of the options that both have, and the same groups.
[[nodiscard]] Choice dense_beside(const Choice& choice);

}  // namespace kadam::replay
