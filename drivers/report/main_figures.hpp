// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/drawing.hpp>
#include <report/run.hpp>

namespace kadam::report {

/// Losses, bytes, time and timelines: those that the runs have numbers for.
[[nodiscard]] std::vector<Figure> main_figures_of(const std::vector<Run>& runs,
                                                  const std::vector<LegendEntry>& styles);

}  // namespace kadam::report
