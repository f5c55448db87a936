// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/drawing.hpp>
#include <report/run.hpp>

namespace kadam::report {

/// Steps as they went on the first ranks: a figure per run that has recorded any.
[[nodiscard]] std::vector<Figure> timeline_figures_of(const std::vector<Run>& runs);

}  // namespace kadam::report
