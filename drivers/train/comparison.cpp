// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>
#include <train/comparison.hpp>

namespace kadam::train {
namespace {

std::string ratio_text(double dense, double sent) {
  return sent > 0.0 ? fmt::format("{:.1f}x", dense / sent) : "-";
}

}  // namespace

std::string comparison_table(const std::vector<RunSummary>& runs) {
  std::string text =
      fmt::format("{:<14} {:>9} {:>9} {:>9} {:>11} {:>8} {:>8}   {:>8} {:>7} {:>9} {:>7}\n", "", "train",
                  "held-out", "", "sent per", "fewer", "over", "", "ms per", "step", "");
  text += fmt::format("{:<14} {:>9} {:>9} {:>9} {:>11} {:>8} {:>8}   {:>8} {:>7} {:>9} {:>7}\n", "optimizer",
                      "loss", "loss", "accuracy", "step", "", "the run", "compute", "encode", "exchange",
                      "decode");
  for (const RunSummary& run : runs) {
    const StepSeconds& s = run.seconds;
    text += fmt::format(
        "{:<14} {:>9.4f} {:>9.4f} {:>7.2f} % {:>11} {:>8} {:>8}   {:>8.2f} {:>7.2f} {:>9.2f} {:>7.2f}\n",
        run.algorithm, run.training_loss, run.held_out_loss, 100.0 * run.accuracy,
        bytes_text(run.bytes_per_step), ratio_text(run.dense_bytes_per_step, run.bytes_per_step),
        ratio_text(run.dense_bytes_per_step, run.mean_bytes_per_step), 1e3 * s.compute, 1e3 * s.encode,
        1e3 * s.exchange, 1e3 * s.decode);
  }
  text +=
      "sent per step: by one rank, after the warm-up; fewer: than a dense float32 exchange, after the "
      "warm-up and over "
      "the run\n";
  return text;
}

void write_comparison_json(const std::filesystem::path& file, const std::vector<RunSummary>& runs) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const RunSummary& run : runs) {
    list.push_back({{"optimizer", run.algorithm},
                    {"training_loss", run.training_loss},
                    {"held_out_loss", run.held_out_loss},
                    {"held_out_accuracy", run.accuracy},
                    {"bytes_per_step", run.bytes_per_step},
                    {"mean_bytes_per_step", run.mean_bytes_per_step},
                    {"dense_bytes_per_step", run.dense_bytes_per_step},
                    {"compute_seconds", run.seconds.compute},
                    {"encode_seconds", run.seconds.encode},
                    {"exchange_seconds", run.seconds.exchange},
                    {"decode_seconds", run.seconds.decode},
                    {"wall_seconds", run.wall_seconds},
                    {"skipped_steps", run.skipped_steps}});
  }
  std::ofstream stream(file);
  stream << list.dump(1) << '\n';
  if (!stream) throw std::runtime_error(file.string() + ": cannot be written");
}

}  // namespace kadam::train
