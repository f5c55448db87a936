// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/files.hpp>
#include <launch/quantities.hpp>
#include <train/run_record.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace kadam::train {
namespace {

using launch::bytes_text;

std::string ratio_text(double dense, double sent) {
  return sent > 0.0 ? fmt::format("{:.1f}x", dense / sent) : "-";
}

/// A dash where there is nothing to say: nothing held out, no step taken.
std::string loss_text(double loss) {
  return std::isnan(loss) ? "-" : fmt::format("{:.4f}", loss);
}

std::string accuracy_text(double accuracy) {
  return std::isnan(accuracy) ? "-" : fmt::format("{:.2f} %", 100.0 * accuracy);
}

std::size_t name_width(const std::vector<RunSummary>& runs) {
  std::size_t width = std::string("optimizer").size();
  for (const RunSummary& run : runs) width = std::max(width, run.algorithm.size());
  return width;
}

std::string background_text(const std::vector<RunSummary>& runs) {
  std::string text;
  for (const RunSummary& run : runs) {
    if (run.background_bytes_per_step == 0.0) continue;
    const double foreground = run.bytes_per_step - run.background_bytes_per_step;
    text +=
        fmt::format("{}: {} per step in the foreground, {} less than dense, and {} in the background\n",
                    run.algorithm, bytes_text(foreground), ratio_text(run.dense_bytes_per_step, foreground),
                    bytes_text(run.background_bytes_per_step));
  }
  return text;
}

std::string skipped_text(const std::vector<RunSummary>& runs) {
  std::string text;
  for (const RunSummary& run : runs) {
    if (run.skipped_steps == 0) continue;
    text += fmt::format("{}: {} of {} steps were skipped: a gradient was NaN or infinite on some rank\n",
                        run.algorithm, run.skipped_steps, run.steps);
  }
  return text;
}

}  // namespace

std::string comparison_table(const std::vector<RunSummary>& runs) {
  const std::size_t name = name_width(runs);
  std::string text =
      fmt::format("{:<{}} {:>8} {:>8} {:>8} {:>9} {:>16}   {:>30}\n", "", name, "train", "held-out",
                  "held-out", "sent per", "less than dense", "milliseconds per step");
  text += fmt::format("{:<{}} {:>8} {:>8} {:>8} {:>9} {:>7} {:>8}   {:>7} {:>6} {:>8} {:>6}\n", "optimizer",
                      name, "loss", "loss", "accuracy", "step", "steady", "overall", "compute", "encode",
                      "exchange", "decode");
  for (const RunSummary& run : runs) {
    const StepSeconds& s = run.seconds;
    text += fmt::format("{:<{}} {:>8} {:>8} {:>8} {:>9} {:>7} {:>8}   {:>7.2f} {:>6.2f} {:>8.2f} {:>6.2f}\n",
                        run.algorithm, name, loss_text(run.training_loss), loss_text(run.held_out_loss),
                        accuracy_text(run.accuracy), bytes_text(run.bytes_per_step),
                        ratio_text(run.dense_bytes_per_step, run.bytes_per_step),
                        ratio_text(run.dense_bytes_per_step, run.mean_bytes_per_step), 1e3 * s.compute,
                        1e3 * s.encode, 1e3 * s.exchange, 1e3 * s.decode);
  }
  text +=
      "sent per step, steady and milliseconds are of rank 0 after the warm-up, overall of the whole run;\n"
      "losses are in nats, and the training loss is the mean over the last tenth of the steps\n";
  return text + background_text(runs) + skipped_text(runs);
}

void write_comparison_json(const std::filesystem::path& file, const std::vector<RunSummary>& runs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RunSummary& run : runs) list.push_back(to_json(run));
  launch::write_file(file, list.dump(1) + '\n');
}

}  // namespace kadam::train
