// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/whole_file.hpp>
#include <report/facts.hpp>
#include <report/health_figures.hpp>
#include <report/main_figures.hpp>
#include <report/page.hpp>
#include <report/palette.hpp>
#include <report/result_table.hpp>
#include <report/style.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace kadam::report {
namespace {

constexpr const char* result_note =
    "Losses in nats; training loss: mean over ranks and the last tenth of the steps. Sent per step: by rank "
    "0, after a warm-up. Less than dense: times fewer bytes than a dense float32 mean of the gradients, "
    "steadily (after a warm-up) and over the whole run.";

std::string title_of(const std::vector<Run>& runs) {
  std::string names;
  for (const Run& run : runs) names += (names.empty() ? "" : ", ") + run.label;
  return (runs.size() == 1 ? "Kadam run: " : "Kadam comparison: ") + names;
}

std::string html_of(const Figure& figure) {
  std::string html = "<figure id=\"" + figure.name + "\">\n<h3>" + escaped(figure.title) + "</h3>\n";
  if (!figure.svg.empty()) html += html_of(figure.legend) + figure.svg;
  html += "<figcaption>" + escaped(figure.caption) + "</figcaption>\n";
  const std::string table = html_of(figure.table);
  return html +
         (figure.svg.empty()
              ? table
              : "<details class=\"numbers\"><summary>In numbers</summary>\n" + table + "</details>\n") +
         "</figure>\n";
}

std::string html_of(const std::vector<Figure>& figures) {
  std::string html = "<div class=\"figures\">\n";
  for (const Figure& figure : figures) html += html_of(figure);
  return html + "</div>\n";
}

std::string list_of(const std::vector<std::string>& sentences) {
  if (sentences.empty()) return "";
  std::string html = "<ul class=\"remarks\">\n";
  for (const std::string& sentence : sentences) html += "<li>" + escaped(sentence) + "</li>\n";
  return html + "</ul>\n";
}

/// Each once, with all that it is said of.
std::vector<std::string> remarks_of(const std::vector<Run>& runs) {
  std::vector<std::pair<std::string, std::string>> labels_by_remark;
  for (const Run& run : runs) {
    for (const std::string& remark : run.remarks) {
      const auto known = std::find_if(labels_by_remark.begin(), labels_by_remark.end(),
                                      [&](const auto& said) { return said.first == remark; });
      if (known == labels_by_remark.end()) {
        labels_by_remark.emplace_back(remark, run.label);
      } else {
        known->second += ", " + run.label;
      }
    }
  }
  std::vector<std::string> remarks;
  for (const auto& [remark, labels] : labels_by_remark) remarks.push_back(labels + ": " + remark);
  return remarks;
}

std::string head_of(const std::vector<Run>& runs) {
  std::string html = "<dl>\n";
  for (const auto& [term, texts] : facts_of(runs)) {
    html += "<dt>" + term + "</dt>\n<dd>";
    for (std::size_t k = 0; k < texts.size(); ++k) html += (k == 0 ? "" : "<br>\n") + escaped(texts[k]);
    html += "</dd>\n";
  }
  html += "</dl>\n";
  return html + list_of(remarks_of(runs));
}

std::string health_section(const std::vector<Run>& runs, const std::vector<Figure>& figures) {
  const std::vector<std::string> warnings = warnings_of(runs);
  std::string html = "<h2>Health</h2>\n";
  html += warnings.empty() ? "<p>No warnings.</p>\n"
                           : "<div class=\"warnings\">\n" + list_of(warnings) + "</div>\n";
  return figures.empty() ? html : html + html_of(figures);
}

std::string blocks_of(const std::vector<std::string>& texts) {
  std::string html;
  for (const std::string& text : texts) html += "<pre>" + escaped(text) + "</pre>\n";
  return html;
}

std::string repetition_section(const std::vector<Run>& runs) {
  const std::vector<std::string> repetitions = repetitions_of(runs);
  std::string html = "<h2>The same again</h2>\n";
  if (repetitions.empty()) return html + "<p>The command was not recorded.</p>\n";
  html +=
      "<p>From the configuration that lies with the results; these go to a new folder in runs/. Where ranks "
      "are not started by mpirun, its counterpart takes its place.</p>\n" +
      blocks_of(repetitions);
  return html + "<details><summary>Started as</summary>\n" + blocks_of(commands_of(runs)) + "</details>\n";
}

std::string folded(const std::string& summary, const std::string& text) {
  return "<details class=\"configuration\"><summary>" + escaped(summary) + "</summary>\n<pre>" +
         escaped(text) + "</pre></details>\n";
}

/// What comes before the optimizer's section: usually the same for all.
std::string before_optimizer(const Run& run) {
  return run.configuration.substr(0, run.configuration.find("\n[optimizer]"));
}

std::string configuration_section(const std::vector<Run>& runs) {
  const std::string shared = before_optimizer(runs.front());
  const bool is_shared =
      std::all_of(runs.begin(), runs.end(), [&](const Run& run) { return before_optimizer(run) == shared; });
  std::string html = "<h2>Configuration, with all defaults</h2>\n";
  if (is_shared && !shared.empty()) html += folded("Data, model and training", shared);
  for (const Run& run : runs) {
    const std::size_t begin = is_shared ? shared.size() : 0;
    if (begin < run.configuration.size()) html += folded(run.label, run.configuration.substr(begin));
  }
  return html;
}

std::string page_of(const std::vector<Run>& runs, const std::string& wanted_title) {
  const std::vector<LegendEntry> styles = styles_of(runs);
  std::vector<Figure> figures = main_figures_of(runs, styles);
  const std::size_t main_count = figures.size();
  for (Figure& figure : health_figures_of(runs, styles)) figures.push_back(std::move(figure));
  const bool drawn = draw(figures);
  const auto health = figures.begin() + static_cast<std::ptrdiff_t>(main_count);
  const std::string title = wanted_title.empty() ? title_of(runs) : wanted_title;
  return "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" + escaped(title) +
         "</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>" +
         style_sheet + "</style>\n</head>\n<body>\n<main>\n<h1>" + breakable(title) + "</h1>\n" +
         head_of(runs) + "<h2>Results</h2>\n" + html_of(result_table_of(runs)) + "<p class=\"note\">" +
         result_note + "</p>\n" + list_of(background_notes_of(runs)) + "<h2>Figures</h2>\n" +
         (drawn ? ""
                : "<p>Without pictures: gnuplot is not installed here, or failed. Tables have the "
                  "numbers.</p>\n") +
         html_of({figures.begin(), health}) + health_section(runs, {health, figures.end()}) +
         repetition_section(runs) + configuration_section(runs) + "</main>\n</body>\n</html>\n";
}

}  // namespace

void write_page(const std::vector<Run>& runs, const std::filesystem::path& file, const std::string& title) {
  launch::write_file(file, page_of(runs, title));
}

}  // namespace kadam::report
