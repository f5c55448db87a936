// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <plan/forecast.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kadam::plan_program {

/// Everything that was predicted.
struct Forecast {
  Figures figures;
  std::vector<Column> columns;       ///< by rank count; not empty
  std::optional<double> pays_below;  ///< on the ranks of the last column
  std::vector<Reproduction> published;
};

/// For people: the figures, a table over ranks, one for the largest number of ranks, and the verdict.
[[nodiscard]] std::string tables_of(const Forecast& forecast);
/// For programs: one JSON object.
[[nodiscard]] std::string json_of(const Forecast& forecast);

/// Draws the step time over ranks and over the links' rate into an SVG or PNG file, by kadam-report; its
/// curves stay in curves_of(file). False where kadam-report does not draw. Errors: launch::UsageError for
/// another kind of file, or one that cannot be written.
[[nodiscard]] bool draw(const std::filesystem::path& file, const Forecast& forecast,
                        const std::vector<Contestant>& all);
/// plan.svg -> plan.curves.json
[[nodiscard]] std::filesystem::path curves_of(std::filesystem::path picture);

}  // namespace kadam::plan_program
