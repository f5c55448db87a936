// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
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

/// What gnuplot prints; empty where there is no gnuplot.
std::string draw(const std::filesystem::path& folder, const std::string& commands) {
  const std::filesystem::path script = folder / "curves.gnuplot";
  std::ofstream(script) << commands;
  const std::string command = "gnuplot '" + script.string() + "' 2>/dev/null";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string picture;
  std::array<char, 4096> buffer{};
  while (pipe != nullptr) {
    const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe.get());
    if (count == 0) break;
    picture.append(buffer.data(), count);
  }
  return picture;
}

}  // namespace

void require_unused(const std::filesystem::path& folder) {
  for (const char* file : {"metrics.jsonl", "comparison.json"}) {
    if (std::filesystem::exists(folder / file)) {
      throw std::runtime_error(folder.string() +
                               " holds the results of an earlier run: choose another --run folder");
    }
  }
}

void write_report(const std::filesystem::path& folder, const Configuration& configuration,
                  const std::vector<RunSummary>& runs) {
  std::string picture = draw(folder, curve_commands(runs));
  if (picture.empty()) picture = "<p>No curves: gnuplot was not found when this report was written.</p>";
  // Without the XML declaration, so that the picture can stand inside the page.
  picture.erase(0, std::min(picture.find("<svg"), picture.size() - 1));
  const std::string settings =
      to_toml(configuration, runs.front().algorithm, configuration.optimizer_options);
  std::ofstream stream(folder / "report.html");
  stream
      << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Kadam comparison</title>\n"
         "<meta name=\"viewport\" content=\"width=device-width\">\n"
         "<style>body{font:16px/1.5 sans-serif;max-width:64em;margin:2em auto;padding:0 1em}"
         "pre{overflow-x:auto;background:#f4f4f4;padding:1em;font-size:13px}svg{max-width:100%;height:auto}</"
         "style>\n"
         "</head><body>\n<h1>Kadam comparison</h1>\n<pre>"
      << escaped(comparison_table(runs)) << "</pre>\n<h2>Training loss</h2>\n"
      << picture << "\n<h2>Configuration</h2>\n<pre>" << escaped(settings) << "</pre>\n</body></html>\n";
  if (!stream) throw std::runtime_error((folder / "report.html").string() + ": cannot be written");
}

}  // namespace kadam::train
