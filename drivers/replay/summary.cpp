// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/quantities.hpp>
#include <replay/normal.hpp>
#include <replay/summary.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace kadam::replay {
namespace {

std::string number_text(Figure figure, double value) {
  return figure == Figure::signs ? fmt::format("{:.0f} %", 100.0 * value) : fmt::format("{:.3g}", value);
}

std::string range_text(Figure figure, const Range& range) {
  if (figure == Figure::signs) return fmt::format("{:.0f}-{:.0f} %", 100 * range.least, 100 * range.most);
  return fmt::format("{:.2g}-{:.2g}", range.least, range.most);
}

bool is_far(const NormalRanges* normal, std::size_t k, const std::optional<double>& value) {
  return normal != nullptr && value && is_far(static_cast<Figure>(k), *value, normal->ranges[k]);
}

std::string row(const std::string& name, const std::string& elements,
                const std::array<std::string, figure_count>& cells, std::size_t width) {
  std::string line = fmt::format("{:<{}} {:>11}", name, width, elements);
  for (const std::string& cell : cells) line += fmt::format(" {:>14}", cell);
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string row(const std::string& name, std::int64_t elements, const Figures& figures,
                const NormalRanges* normal, std::size_t width) {
  std::array<std::string, figure_count> cells;
  for (std::size_t k = 0; k < figure_count; ++k) {
    if (!figures[k]) {
      cells[k] = "-  ";
      continue;
    }
    cells[k] =
        number_text(static_cast<Figure>(k), *figures[k]) + (is_far(normal, k, figures[k]) ? " !" : "  ");
  }
  return row(name, launch::grouped(elements), cells, width);
}

std::string table(const Summary& summary, const NormalRanges* normal) {
  std::size_t width = 10;
  for (const Tensor& tensor : summary.tensors.tensors()) width = std::max(width, tensor.name.size());
  std::array<std::string, figure_count> head;
  for (std::size_t k = 0; k < figure_count; ++k) head[k] = std::string(figure_names[k]) + "  ";
  std::string text = row("tensor", "elements", head, width);
  std::size_t at = 0;
  for (const Tensor& tensor : summary.tensors.tensors())
    text += row(tensor.name, tensor.elements(), summary.figures[at++], normal, width);
  text += row("all", summary.tensors.elements(), summary.figures[at], normal, width);
  if (normal == nullptr) return text;
  std::array<std::string, figure_count> ranges;
  for (std::size_t k = 0; k < figure_count; ++k)
    ranges[k] = range_text(static_cast<Figure>(k), normal->ranges[k]) + "  ";
  return text + row("normal", "", ranges, width);
}

/// Tensors with a figure that is far from normal.
std::int64_t far_tensors(const Summary& summary, const NormalRanges* normal) {
  return std::count_if(summary.figures.begin(), summary.figures.end() - 1, [&](const Figures& figures) {
    for (std::size_t k = 0; k < figure_count; ++k) {
      if (is_far(normal, k, figures[k])) return true;
    }
    return false;
  });
}

std::string verdict(const Summary& summary, const NormalRanges* normal) {
  if (normal == nullptr) return fmt::format("The normal ranges of {} are not known.\n", summary.algorithm);
  const std::int64_t far = far_tensors(summary, normal);
  if (far == 0) return "No tensor is far from normal.\n";
  return fmt::format("{} of {} tensors {} far from normal: see the figures with a !.\n", far,
                     summary.tensors.tensors().size(), far == 1 ? "is" : "are");
}

/// How many bytes less, where something was sent.
std::string sent_text(const Summary& summary) {
  if (summary.dense_sent_bytes == 0) return "Nothing was sent.\n";
  std::string text = fmt::format("Rank 0 sent {} where {} sent {}",
                                 launch::bytes_text(static_cast<double>(summary.sent_bytes)), summary.dense,
                                 launch::bytes_text(static_cast<double>(summary.dense_sent_bytes)));
  if (summary.sent_bytes == 0 || summary.sent_bytes == summary.dense_sent_bytes) return text + ".\n";
  const double ratio =
      static_cast<double>(summary.dense_sent_bytes) / static_cast<double>(summary.sent_bytes);
  return text + (ratio > 1.0 ? fmt::format(": {:.3g} times less.\n", ratio)
                             : fmt::format(": {:.3g} times more.\n", 1.0 / ratio));
}

std::string equality_text(const Summary& summary) {
  if (summary.equal == summary.compared)
    return "Parameters were equal on all ranks after each of these steps.\n";
  return fmt::format(
      "Parameters were equal on all ranks after {} of these steps; the figures are of the mean over ranks.\n",
      summary.equal);
}

nlohmann::json json_of(const Figures& figures, const NormalRanges* normal) {
  nlohmann::json object = nlohmann::json::object();
  nlohmann::json far = nlohmann::json::array();
  for (std::size_t k = 0; k < figure_count; ++k) {
    object[figure_names[k]] = figures[k] ? nlohmann::json(*figures[k]) : nlohmann::json();
    if (is_far(normal, k, figures[k])) far.push_back(figure_names[k]);
  }
  object["far"] = far;
  return object;
}

nlohmann::json json_of(const NormalRanges* normal) {
  if (normal == nullptr) return {};
  nlohmann::json object;
  for (std::size_t k = 0; k < figure_count; ++k)
    object[figure_names[k]] = {normal->ranges[k].least, normal->ranges[k].most};
  return object;
}

}  // namespace

std::string to_text(const Summary& summary) {
  std::string text =
      fmt::format("{}: {} steps of {} parameters on {} ranks, {} skipped\n", summary.algorithm, summary.steps,
                  launch::grouped(summary.tensors.elements()), summary.ranks, summary.skipped) +
      sent_text(summary);
  if (summary.figures.empty()) {
    return text +
           "No step was compressed: there is nothing to compare. Make the warm-up shorter than the "
           "recording.\n";
  }
  const NormalRanges* const normal = normal_ranges(summary.algorithm);
  text += fmt::format("Compared with {} over {} steps, from the first step that was not dense:\n",
                      summary.dense, summary.compared) +
          equality_text(summary) + "\n" + table(summary, normal) + "\n" + verdict(summary, normal);
  for (const Warning& warning : summary.warnings) text += "Warning: " + warning.text + "\n";
  return text;
}

std::string to_json(const Summary& summary) {
  const NormalRanges* const normal = normal_ranges(summary.algorithm);
  nlohmann::json object = {{"optimizer", summary.algorithm},
                           {"beside", summary.dense},
                           {"ranks", summary.ranks},
                           {"steps", summary.steps},
                           {"skipped", summary.skipped},
                           {"compared_steps", summary.compared},
                           {"equal_steps", summary.equal},
                           {"bytes", summary.sent_bytes},
                           {"beside_bytes", summary.dense_sent_bytes},
                           {"normal", json_of(normal)},
                           {"tensors", nlohmann::json::array()},
                           {"warnings", nlohmann::json::array()}};
  for (const Warning& warning : summary.warnings)
    object["warnings"].push_back({{"kind", warning.kind}, {"text", warning.text}});
  if (summary.figures.empty()) return object.dump() + "\n";
  std::size_t at = 0;
  for (const Tensor& tensor : summary.tensors.tensors()) {
    nlohmann::json figures = json_of(summary.figures[at++], normal);
    figures["name"] = tensor.name;
    figures["elements"] = tensor.elements();
    object["tensors"].push_back(figures);
  }
  object["all"] = json_of(summary.figures[at], normal);
  return object.dump() + "\n";
}

}  // namespace kadam::replay
