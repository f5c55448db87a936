// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/quantities.hpp>
#include <report/curves.hpp>
#include <report/main_figures.hpp>
#include <report/time_bars.hpp>
#include <report/timeline_figures.hpp>

#include <algorithm>
#include <set>

namespace kadam::report {
namespace {

/// What a dense exchange would send: one line, or one for each model or number of ranks.
std::vector<Level> dense_levels(const std::vector<Run>& runs) {
  std::set<double> values;
  for (const Run& run : runs) {
    for (const Numbers* numbers : {&run.result, &run.facts}) {
      const double bytes = number_of(*numbers, "dense_bytes_per_step").value_or(0.0);
      if (bytes > 0.0) values.insert(bytes);
    }
  }
  std::vector<Level> levels;
  for (const double bytes : values)
    levels.push_back({bytes, "dense float32 mean: " + launch::bytes_text(bytes)});
  return levels;
}

}  // namespace

std::vector<Figure> main_figures_of(const std::vector<Run>& runs, const std::vector<LegendEntry>& styles) {
  const CurveKind losses{"loss-over-steps",
                         "Training loss over steps, nats",
                         "Mean over ranks and logged steps.",
                         "loss",
                         "step",
                         plain_text,
                         false};
  CurveKind over_time = losses;
  over_time.name = "loss-over-time";
  over_time.title = "Training loss over time, nats";
  over_time.over = "seconds";
  over_time.caption = "Time of the whole run so far, evaluations and checkpoints included.";
  const CurveKind held_out{"held-out-loss",
                           "Held-out loss over steps, nats",
                           "Of predictions on data that training does not see.",
                           "held_out_loss",
                           "step",
                           plain_text,
                           false,
                           &Run::evaluations};
  const std::vector<Level> dense = dense_levels(runs);
  const CurveKind bytes{
      "bytes",
      "Bytes sent per step",
      dense.empty() ? "By rank 0, mean of the logged steps. What a dense mean would send is not known."
                    : "By rank 0, mean of the logged steps.",
      "bytes_per_step",
      "step",
      launch::bytes_text,
      true};
  std::vector<Figure> figures;
  const auto add = [&](std::optional<Figure> figure) {
    if (figure) figures.push_back(std::move(*figure));
  };
  add(figure_of(losses, runs, styles));
  add(figure_of(over_time, runs, styles));
  // One evaluation, at the end, is in the table of results.
  if (std::any_of(runs.begin(), runs.end(), [](const Run& run) { return run.evaluations.size() > 1; }))
    add(figure_of(held_out, runs, styles));
  add(figure_of(bytes, runs, styles, dense));
  add(time_bars_of(runs));
  for (Figure& figure : timeline_figures_of(runs)) figures.push_back(std::move(figure));
  return figures;
}

}  // namespace kadam::report
