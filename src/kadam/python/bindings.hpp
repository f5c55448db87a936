// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nanobind/nanobind.h>

namespace kadam::python {

/// What calls return: StepResult, Restored.
void bind_results(nanobind::module_& module);
/// Optimizer.
void bind_optimizer(nanobind::module_& module);

}  // namespace kadam::python
