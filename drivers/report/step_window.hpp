// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/step_timeline.hpp>

#include <filesystem>

namespace kadam::report {

/// A step of rank 0, or two in a row, in seconds as in the file.
struct StepWindow {
  Span first_step;
  double end = 0.0;  ///< of the last step
  std::size_t steps = 1;
};

/// Of the last 64 steps the last two in a row in which as many kinds of exchanges are seen as in any; one
/// alone where there is an evaluation or a checkpoint between all. Errors: as read_trace_events(), and where
/// there is no step of rank 0.
[[nodiscard]] StepWindow choose_step_window(const std::filesystem::path& file);

}  // namespace kadam::report
