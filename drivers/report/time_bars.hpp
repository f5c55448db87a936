// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/drawing.hpp>
#include <report/run.hpp>

#include <optional>

namespace kadam::report {

/// Where the time of a step goes: a bar per run. Of finished runs their result, of others the last tenth of
/// their lines. Nothing if no run has such figures.
[[nodiscard]] std::optional<Figure> time_bars_of(const std::vector<Run>& runs);

}  // namespace kadam::report
