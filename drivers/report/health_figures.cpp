// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/health.hpp>
#include <report/curves.hpp>
#include <report/health_figures.hpp>

#include <fmt/format.h>

namespace kadam::report {
namespace {

/// A figure of health with the limits at which the optimizer warns.
struct Kind {
  const char* field;
  const char* title;
  const char* meaning;
  std::vector<double> limits;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"error_ratio",
       "Error ratio",
       "What compression owes over what the last exchange delivered: bounded when error feedback works.",
       {largest_error_ratio}},
      {"variance_drift",
       "Variance drift",
       "Mean square of the gradients now over the same when the variance was frozen: far from 1, the frozen "
       "variance no longer fits.",
       {smallest_variance_drift, largest_variance_drift}},
      {"variance_spread",
       "Variance spread",
       "Largest over smallest sum of v among ranks: far from 1, their data differ.",
       {largest_variance_spread}},
      {"support_overlap",
       "Support overlap",
       "Of the coordinates that were sent last, those that several ranks sent: 0 when all choose others, 1 "
       "when all choose alike.",
       {}},
      {"background_hidden",
       "Hidden part of background exchanges",
       "Of the seconds that they took on rank 0, those in which it computed.",
       {}},
  };
  return all;
}

std::string caption_of(const Kind& kind) {
  std::string limits;
  for (const double limit : kind.limits)
    limits += (limits.empty() ? "" : " and ") + fmt::format("{:g}", limit);
  if (kind.limits.empty()) return kind.meaning;
  return fmt::format("{} Warnings begin {} {}.", kind.meaning, kind.limits.size() > 1 ? "outside" : "above",
                     limits);
}

/// Limits that are not so far from all curves that these would become flat.
std::vector<Level> near_limits(const Kind& kind, const std::vector<Run>& runs) {
  constexpr double near = 1.5;
  std::vector<Level> levels;
  for (const double limit : kind.limits) {
    bool is_near = false;
    for (const Run& run : runs) {
      for (const Line& line : run.training) {
        const auto value = number_of(line.numbers, kind.field);
        is_near = is_near || (value && *value > limit / near && *value < limit * near);
      }
    }
    if (is_near) levels.push_back({limit, fmt::format("warning: {:g}", limit)});
  }
  return levels;
}

}  // namespace

std::vector<Figure> health_figures_of(const std::vector<Run>& runs, const std::vector<LegendEntry>& styles) {
  std::vector<Figure> figures;
  for (const Kind& kind : kinds()) {
    std::string name = kind.field;
    name[name.find('_')] = '-';
    const CurveKind curves{
        name, std::string(kind.title) + " over steps", caption_of(kind), kind.field, "step", plain_text,
        false};
    auto figure = figure_of(curves, runs, styles, near_limits(kind, runs));
    if (figure) figures.push_back(std::move(*figure));
  }
  return figures;
}

std::vector<std::string> warnings_of(const std::vector<Run>& runs) {
  std::vector<std::string> sentences;
  for (const Run& run : runs) {
    for (const Caution& caution : run.cautions) {
      const std::string when = caution.lines == 1
                                   ? fmt::format("at step {}", caution.first_step)
                                   : fmt::format("{} times between steps {} and {}", caution.lines,
                                                 caution.first_step, caution.last_step);
      sentences.push_back(fmt::format("{}, {}: {}.", run.label, when, caution.text));
    }
    const double skipped =
        number_of(run.result, "skipped_steps")
            .value_or(run.training.empty()
                          ? 0.0
                          : number_of(run.training.back().numbers, "skipped_steps").value_or(0.0));
    if (skipped > 0.0) {
      sentences.push_back(
          fmt::format("{}: {:.0f} of {} steps were skipped: a gradient was NaN or infinite on some rank.",
                      run.label, skipped, run.steps()));
    }
  }
  return sentences;
}

}  // namespace kadam::report
