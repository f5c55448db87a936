// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/quantities.hpp>
#include <report/result_table.hpp>

#include <fmt/format.h>

#include <cmath>

namespace kadam::report {
namespace {

const Numbers& last_numbers(const std::vector<Line>& lines) {
  static const Numbers none;
  return lines.empty() ? none : lines.back().numbers;
}

/// Of the result; of a run that has none, of its last line.
std::optional<double> of(const Run& run, const char* in_result, const std::vector<Line>& lines,
                         const char* in_line) {
  return run.is_finished() ? number_of(run.result, in_result) : number_of(last_numbers(lines), in_line);
}

std::optional<double> dense_bytes(const Run& run) {
  const auto known = number_of(run.result, "dense_bytes_per_step");
  return known ? known : number_of(run.facts, "dense_bytes_per_step");
}

std::string value_text(const std::optional<double>& value, const char* format, double factor = 1.0) {
  return value ? fmt::format(fmt::runtime(format), factor * *value) : "–";
}

std::string sent_text(const std::optional<double>& bytes) {
  return bytes ? launch::bytes_text(*bytes) : "–";
}

std::string times_less(const std::optional<double>& dense, const std::optional<double>& sent) {
  return dense && sent && *sent > 0.0 ? fmt::format("{:.1f}×", *dense / *sent) : "–";
}

std::string duration_text(const std::optional<double>& seconds) {
  if (!seconds) return "–";
  if (*seconds < 120.0) return fmt::format("{:.3g} s", *seconds);
  const auto minutes = static_cast<std::int64_t>(std::lround(*seconds / 60.0));
  return minutes < 120 ? fmt::format("{} min", minutes)
                       : fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

std::optional<double> mean_bytes(const Run& run) {
  if (run.is_finished()) return number_of(run.result, "mean_bytes_per_step");
  const auto sent = number_of(last_numbers(run.training), "bytes_sent");
  return sent && run.steps() > 0 ? std::optional<double>(*sent / static_cast<double>(run.steps()))
                                 : std::nullopt;
}

std::string steps_text(const Run& run) {
  const auto wanted = number_of(run.facts, "steps");
  const std::string done = launch::grouped(run.steps());
  if (!wanted || static_cast<double>(run.steps()) >= *wanted) return done;
  return fmt::format("{} of {}", done, launch::grouped(static_cast<std::int64_t>(*wanted)));
}

}  // namespace

Table result_table_of(const std::vector<Run>& runs) {
  Table table{"Results",
              {"optimizer", "training loss", "held-out loss", "held-out accuracy", "sent per step",
               "less than dense, steadily", "less than dense, overall", "steps", "time"},
              {}};
  for (const Run& run : runs) {
    const auto sent = of(run, "bytes_per_step", run.training, "bytes_per_step");
    table.rows.push_back(
        {run.label, value_text(of(run, "training_loss", run.training, "loss"), "{:.4f}"),
         value_text(of(run, "held_out_loss", run.evaluations, "held_out_loss"), "{:.4f}"),
         value_text(of(run, "held_out_accuracy", run.evaluations, "held_out_accuracy"), "{:.2f} %", 100.0),
         sent_text(sent), times_less(dense_bytes(run), sent), times_less(dense_bytes(run), mean_bytes(run)),
         steps_text(run), duration_text(of(run, "wall_seconds", run.training, "seconds"))});
  }
  return table;
}

std::vector<std::string> background_notes_of(const std::vector<Run>& runs) {
  std::vector<std::string> notes;
  for (const Run& run : runs) {
    const double background = number_of(run.result, "background_bytes_per_step").value_or(0.0);
    if (!(background > 0.0)) continue;
    const double foreground = number_of(run.result, "bytes_per_step").value_or(background) - background;
    notes.push_back(fmt::format(
        "{}: of what is sent per step, {} in the foreground ({} less than dense) and {} in the background.",
        run.label, sent_text(foreground), times_less(dense_bytes(run), foreground), sent_text(background)));
  }
  return notes;
}

}  // namespace kadam::report
