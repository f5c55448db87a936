// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/options/parameter_groups.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kadam::replay {

/// A recorded stream of gradients, and the optimizer that is to run over it.
///
/// Format: a folder with case.json (algorithm, ranks, steps, options, groups, tensors), gradients.npy
/// (float32 [ranks][steps][d]) and parameters.npy (float32 [d]). docs/replay.md.
struct ReplayCase {
  std::string algorithm;
  int ranks = 1;
  std::int64_t steps = 0;
  OptionMap options;
  std::vector<ParameterGroup> groups;
  TensorLayout tensors;
  std::vector<float> parameters;
  std::vector<float> gradients;  ///< of one rank: [steps][d]
};

/// Reads the case for one rank of `ranks`.
/// Errors: std::runtime_error that names the file and what was expected.
[[nodiscard]] ReplayCase read_case(const std::filesystem::path& folder, int rank, int ranks);

}  // namespace kadam::replay
