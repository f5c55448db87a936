// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <fstream>
#include <launch/gnuplot.hpp>
#include <sstream>
#include <stdexcept>
#include <train/comparison.hpp>
#include <train/report.hpp>

namespace kadam::train {
namespace {

std::string escaped(const std::string& text) {
  std::string html;
  for (const char c : text) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

/// Training loss over steps as gnuplot commands with the data inline.
std::string curve_commands(const std::vector<RunSummary>& runs) {
  std::string commands =
      "set terminal svg size 900,420 dynamic background 'white' font 'sans,13'\n"
      "set output 'curves.svg'\n"
      "set xlabel 'step'\nset ylabel 'training loss (nats)'\nset logscale y\nset grid\nset key top right\n";
  std::string plots;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    commands += fmt::format("$run{} << EOD\n", k);
    for (const CurvePoint& point : runs[k].curve)
      commands += fmt::format("{} {:.6g}\n", point.step, point.loss);
    commands += "EOD\n";
    if (k > 0) plots += ", ";
    plots += fmt::format("$run{} using 1:2 with lines lw 2 title '{}' noenhanced", k, runs[k].algorithm);
  }
  return commands + "plot " + plots + "\n";
}

/// The picture that gnuplot makes, without its XML declaration, so that it can stand inside a page; empty
/// where there is no gnuplot or nothing to draw.
std::string draw(const std::filesystem::path& folder, const std::string& commands) {
  if (!launch::run_gnuplot(folder / "curves.gnuplot", commands)) return "";
  std::ostringstream picture;
  picture << std::ifstream(folder / "curves.svg").rdbuf();
  std::filesystem::remove(folder / "curves.svg");
  const std::size_t begin = picture.str().find("<svg");
  return begin != std::string::npos ? picture.str().substr(begin) : "";
}

std::string title(const std::vector<RunSummary>& runs) {
  std::string names;
  for (const RunSummary& run : runs) names += (names.empty() ? "" : ", ") + run.algorithm;
  return (runs.size() == 1 ? "Kadam run: " : "Kadam comparison: ") + names;
}

}  // namespace

void require_unused(const std::filesystem::path& folder, const std::vector<std::string>& algorithms) {
  std::vector<std::filesystem::path> folders = {folder};
  for (const std::string& algorithm : algorithms) folders.push_back(folder / algorithm);
  for (const std::filesystem::path& place : folders) {
    for (const char* file :
         {"config.toml", "metrics.jsonl", "parameters.safetensors", "comparison.json", "report.html"}) {
      if (std::filesystem::exists(place / file)) {
        throw std::runtime_error(
            fmt::format("{} holds {} already: choose another --run folder, nothing is written over",
                        place.string(), file));
      }
    }
  }
}

void write_report(const std::filesystem::path& folder, const Configuration& configuration,
                  const std::vector<RunSummary>& runs) {
  std::string picture = draw(folder, curve_commands(runs));
  if (picture.empty()) {
    picture = "<p>No curves: gnuplot is not installed here, or there was no finite loss to draw.</p>";
  }
  const std::string heading = escaped(title(runs));
  std::ofstream stream(folder / "report.html");
  stream << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" << heading
         << "</title>\n"
            "<meta name=\"viewport\" content=\"width=device-width\">\n"
            "<style>body{font:16px/1.5 sans-serif;max-width:64em;margin:2em auto;padding:0 1em}"
            "pre{overflow-x:auto;background:#f4f4f4;padding:1em;font-size:13px}"
            "svg{max-width:100%;height:auto}</style>\n"
            "</head><body>\n<h1>"
         << heading << "</h1>\n<pre>" << escaped(comparison_table(runs)) << "</pre>\n<h2>Training loss</h2>\n"
         << picture << "\n<h2>Configuration</h2>\n<pre>" << escaped(to_toml(configuration))
         << "</pre>\n</body></html>\n";
  if (!stream.flush()) throw std::runtime_error((folder / "report.html").string() + ": cannot be written");
}

}  // namespace kadam::train
