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

/// A recorded case without its gradients: ranks, tensors, initial parameters, and the optimizer to run, if
/// any.
///
/// Format: a folder with case.json (ranks, tensors; algorithm, steps, options, groups), parameters.npy
/// (float32 [d]) and gradients, which RecordedGradients reads. docs/replay.md. Memory: 4 B per parameter.
struct ReplayCase {
  std::filesystem::path folder;
  std::string algorithm;  ///< empty: the file or the command line names it
  int ranks = 1;
  std::optional<std::int64_t> steps;  ///< nothing: all steps that all ranks have recorded
  OptionMap options;                  ///< of `algorithm`
  std::vector<ParameterGroup> groups;
  TensorLayout tensors;
  std::vector<float> parameters;
};

/// Reads a case. ranks: those of this run, which must be those of the case.
/// Errors: std::runtime_error that names the file and what was expected.
[[nodiscard]] ReplayCase read_case(const std::filesystem::path& folder, int ranks);

}  // namespace kadam::replay
