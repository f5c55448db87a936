// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/html.hpp>
#include <report/run.hpp>

namespace kadam::report {

/// How the curves of each run look, in every figure of the page: an optimizer has the same colour on all
/// pages, dense ones are black and grey; runs of one optimizer differ in their dashes.
[[nodiscard]] std::vector<LegendEntry> styles_of(const std::vector<Run>& runs);

}  // namespace kadam::report
