// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <plan/figures.hpp>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kadam::plan_program {

/// An optimizer with its options, under the name that tables give it.
struct Contestant {
  std::string name;
  std::string algorithm;
  OptimizerTraits traits;
  OptionMap options;
};

/// All optimizers, and dense Adam in bf16; with the options of the figures. The warm-ups that must be given
/// are the figures' share of the run, unless the options say otherwise.
[[nodiscard]] std::vector<Contestant> contestants(const Figures& figures);

/// What is predicted for one number of ranks.
struct Column {
  int ranks = 0;
  std::vector<plan::Candidate> candidates;  ///< as the contestants
  plan::Verdict verdict;
};

/// Of a rank, with parameters and gradient in float32.
[[nodiscard]] double memory_of(const plan::Prediction& prediction, const Figures& figures);

/// nullptr: there is none of this name.
[[nodiscard]] const plan::Candidate* find(const Column& column, const std::string& name);

[[nodiscard]] Column predict_column(const Figures& figures, const std::vector<Contestant>& all, int ranks);
/// The same with links of another rate.
[[nodiscard]] Column predict_column_at(Figures figures, const std::vector<Contestant>& all, int ranks,
                                       double link_bytes_per_second);

/// The rate of a host's link below which compression pays on so many ranks, in bytes per second, to 2 %;
/// nothing if it never does between 1 Mbit/s and 10 Tbit/s, or if no dense optimizer fits into memory.
[[nodiscard]] std::optional<double> pays_below(const Figures& figures, const std::vector<Contestant>& all,
                                               int ranks);

/// A published speed-up beside the prediction.
struct Reproduction {
  Published published;
  double predicted = 0.0;
  /// predicted over the nearest published value, minus 1; 0 inside a range.
  [[nodiscard]] double deviation() const;
};
/// Errors: launch::UsageError for a name that is no contestant.
[[nodiscard]] std::vector<Reproduction> reproduce(const Figures& figures, const std::vector<Contestant>& all);

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
