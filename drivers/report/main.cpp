// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-report: a page about runs of kadam-train, from the files that they wrote.
#include <launch/command_line.hpp>
#include <report/page.hpp>

#include <fmt/format.h>

#include <cstdio>

namespace kadam::report {
namespace {

struct CommandLine {
  std::vector<std::filesystem::path> runs;
  std::filesystem::path out;
  std::string title;
};

/// Beside the only run; here, if there are several.
std::filesystem::path page_file(const CommandLine& line) {
  if (!line.out.empty()) return line.out;
  return line.runs.size() == 1 ? line.runs.front() / "report.html" : std::filesystem::path("report.html");
}

int run(int argc, char** argv) {
  CommandLine line;
  launch::Options options(
      "kadam-report",
      "Makes one HTML page with tables and figures of runs of kadam-train, also of other days.",
      "kadam-report RUN... [--out FILE] [--title TEXT]");
  options.add("RUN", "", line.runs, "folder of a run, or of a comparison").needed();
  options.add("--out", "FILE", line.out,
              "the page (default report.html in RUN; here, if there are\nseveral); it is written over");
  options.add("--title", "TEXT", line.title, "of the page (default: the optimizers' names)");
  if (const auto code = options.parse(argc, argv)) return *code;
  try {
    const std::filesystem::path file = page_file(line);
    write_page(read_runs(line.runs), file, line.title);
    fmt::print("Report:  {}\n", file.string());
    return launch::exit_success;
  } catch (const std::exception& error) {
    fmt::print(stderr, "kadam-report: {}\n", error.what());
    return launch::exit_usage;
  }
}

}  // namespace
}  // namespace kadam::report

int main(int argc, char** argv) {
  return kadam::report::run(argc, argv);
}
