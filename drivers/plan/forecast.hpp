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

/// All optimizers, and dense Adam with bf16 gradients, each with figures.options. A warm-up that an
/// optimizer needs takes the share figures.warmup of the run unless the options give it.
[[nodiscard]] std::vector<Contestant> contestants(const Figures& figures);

/// The predictions for one number of ranks.
struct Column {
  int ranks = 0;
  std::vector<plan::Candidate> candidates;  ///< in the order of the contestants
  plan::Verdict verdict;
};

/// Bytes of memory of a rank: parameters and gradient in float32, and the optimizer of the prediction.
[[nodiscard]] double memory_of(const plan::Prediction& prediction, const Figures& figures);

/// The candidate of a column with this name; nullptr if there is none.
[[nodiscard]] const plan::Candidate* find(const Column& column, const std::string& name);

/// Predicts all contestants on one number of ranks, and judges them.
[[nodiscard]] Column predict_column(const Figures& figures, const std::vector<Contestant>& all, int ranks);
/// predict_column() with links of another rate.
[[nodiscard]] Column predict_column_at(Figures figures, const std::vector<Contestant>& all, int ranks,
                                       double link_bytes_per_second);

/// The rate of a host's link, in bytes per second and within 2 %, below which compression pays on this number
/// of ranks; nothing if it never pays between 1 Mbit/s and 10 Tbit/s, or if no dense optimizer fits into
/// memory.
[[nodiscard]] std::optional<double> pays_below(const Figures& figures, const std::vector<Contestant>& all,
                                               int ranks);

/// A published speed-up beside the predicted one.
struct Reproduction {
  Published published;
  double predicted = 0.0;
  /// predicted / nearest value in [low, high] - 1; 0 inside the range.
  [[nodiscard]] double deviation() const;
};
/// Predicts every published speed-up. Errors: launch::UsageError for a name that is not a contestant's.
[[nodiscard]] std::vector<Reproduction> reproduce(const Figures& figures, const std::vector<Contestant>& all);

/// Everything that was predicted.
struct Forecast {
  Figures figures;
  std::vector<Column> columns;       ///< by rank count; not empty
  std::optional<double> pays_below;  ///< on the ranks of the last column
  std::vector<Reproduction> published;
};

/// Text for people: the figures, a table over numbers of ranks, a table for the largest one, and the verdict.
[[nodiscard]] std::string tables_of(const Forecast& forecast);
/// Text for programs: one JSON object.
[[nodiscard]] std::string json_of(const Forecast& forecast);

/// Draws the step time over ranks and over the links' rate into an SVG or PNG file. It writes the curves to
/// curves_of(file), which stays, and starts kadam-report; returns false if that does not draw. Errors:
/// launch::UsageError for another kind of file, or one that cannot be written.
[[nodiscard]] bool draw(const std::filesystem::path& file, const Forecast& forecast,
                        const std::vector<Contestant>& all);
/// The file of the curves of a picture: plan.svg -> plan.curves.json
[[nodiscard]] std::filesystem::path curves_of(std::filesystem::path picture);

}  // namespace kadam::plan_program
