// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/drawing.hpp>
#include <report/run.hpp>

namespace kadam::report {

/// A figure for each health figure that some run has.
[[nodiscard]] std::vector<Figure> health_figures_of(const std::vector<Run>& runs,
                                                    const std::vector<LegendEntry>& styles);

/// What optimizers warned of, as sentences; empty when all was well.
[[nodiscard]] std::vector<std::string> warnings_of(const std::vector<Run>& runs);

}  // namespace kadam::report
