// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/run.hpp>

namespace kadam::report {

/// Reads trace.json in the folder of the run, if there is one: the two steps of choose_step_window(). One
/// that cannot be used is a remark. Ranks behind the second are not read.
///
/// Memory: 16 B for each step and message of rank 0, and for what is in the two steps: a sixth of the file.
void read_trace(Run& run);

}  // namespace kadam::report
