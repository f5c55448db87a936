// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/run.hpp>

namespace kadam::report {

/// Reads metrics.jsonl in the folder of the run: lines that are not whole are left out, with a remark.
/// Errors: std::runtime_error when the file cannot be read, or no line of it is one of kadam-train.
void read_metrics(Run& run);

}  // namespace kadam::report
