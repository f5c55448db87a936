// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/options/parameter_groups.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kadam::replay {

/// What was recorded beside gradients: where the parameters began, and the optimizer that is to run, if any.
///
/// Format: a folder with case.json (ranks, tensors; algorithm, steps, options, groups), parameters.npy
/// (float32 [d]) and gradients, which RecordedGradients reads. docs/replay.md. Memory: 4 B per parameter.
struct ReplayCase {
  std::filesystem::path folder;
  std::string algorithm;  ///< empty: somebody else says it
  int ranks = 1;
  std::optional<std::int64_t> steps;  ///< nothing: as many as all ranks have recorded
  OptionMap options;                  ///< of `algorithm`
  std::vector<ParameterGroup> groups;
  TensorLayout tensors;
  std::vector<float> parameters;
};

/// Reads the case for a run of so many ranks.
/// Errors: std::runtime_error that names the file and what was expected.
[[nodiscard]] ReplayCase read_case(const std::filesystem::path& folder, int ranks);

}  // namespace kadam::replay
