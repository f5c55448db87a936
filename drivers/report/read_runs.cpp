// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/metrics.hpp>
#include <report/read_runs.hpp>
#include <report/read_trace.hpp>
#include <report/run_record.hpp>

#include <algorithm>
#include <set>
#include <stdexcept>

namespace kadam::report {
namespace {

namespace fs = std::filesystem;

using Results = std::vector<std::pair<std::string, Numbers>>;

bool is_run(const fs::path& folder) {
  return fs::is_regular_file(folder / "metrics.jsonl");
}

/// The optimizer of a run without run.json: as its config.toml names it.
std::string optimizer_in(const std::string& configuration) {
  const std::string before = "[optimizer]\nname = \"";
  const std::size_t found = configuration.find(before);
  if (found == std::string::npos) return "";
  const std::size_t begin = found + before.size();
  return configuration.substr(begin, configuration.find('"', begin) - begin);
}

/// Names go into pictures and lists: each is one line, and some characters at least.
std::string in_one_line(std::string name) {
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return name.empty() ? "?" : name;
}

std::string last_name(const fs::path& folder) {
  const fs::path whole = fs::absolute(folder).lexically_normal();
  return (whole.has_filename() ? whole : whole.parent_path()).filename().string();
}

Run read_run(const fs::path& folder) {
  Run run;
  run.folder = folder;
  read_metrics(run);
  read_record(run);
  read_trace(run);
  if (run.optimizer.empty()) run.optimizer = optimizer_in(run.configuration);
  if (run.optimizer.empty()) run.optimizer = last_name(folder);
  run.optimizer = in_one_line(run.optimizer);
  run.label = run.optimizer;
  return run;
}

/// The folders of a comparison that are runs, in the order of its results; others follow by name.
std::vector<fs::path> runs_inside(const fs::path& folder, const Results& results) {
  std::vector<fs::path> inside;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (is_run(entry.path())) inside.push_back(entry.path());
  }
  const auto place = [&](const fs::path& path) {
    return std::find_if(results.begin(), results.end(),
                        [&](const auto& result) { return result.first == path.filename().string(); }) -
           results.begin();
  };
  std::sort(inside.begin(), inside.end(), [&](const fs::path& a, const fs::path& b) {
    return std::pair(place(a), a) < std::pair(place(b), b);
  });
  return inside;
}

void read_comparison_into(std::vector<Run>& all, const fs::path& folder) {
  if (!fs::is_directory(folder)) {
    throw std::runtime_error(folder.string() +
                             ": there is no such folder; expected one that kadam-train --run has written");
  }
  const Results results = read_comparison(folder);
  const std::vector<fs::path> inside = runs_inside(folder, results);
  if (inside.empty()) {
    throw std::runtime_error(folder.string() +
                             ": expected metrics.jsonl in it (a run of kadam-train), or in the folders in it "
                             "(a comparison); found none");
  }
  for (const fs::path& path : inside) {
    Run run = read_run(path);
    const auto said = std::find_if(results.begin(), results.end(),
                                   [&](const auto& result) { return result.first == run.optimizer; });
    if (!run.is_finished() && said != results.end()) run.result = said->second;
    all.push_back(std::move(run));
  }
}

/// Runs of one optimizer are told apart by the first folders on their way up that differ.
std::string folder_name(const Run& run) {
  const fs::path whole = fs::absolute(run.folder).lexically_normal();
  const std::string own = last_name(whole);
  return own == run.optimizer ? last_name(fs::path(whole).parent_path()) : own;
}

void tell_apart(std::vector<Run>& runs) {
  const auto are_same = [&](const Run& run) {
    return std::count_if(runs.begin(), runs.end(),
                         [&](const Run& other) { return other.label == run.label; }) > 1;
  };
  for (const auto name : {+[](const Run& run) { return folder_name(run); },
                          +[](const Run& run) { return run.folder.lexically_normal().string(); }}) {
    std::vector<std::string> labels;
    for (const Run& run : runs)
      labels.push_back(are_same(run) ? in_one_line(run.optimizer + " (" + name(run) + ")") : run.label);
    for (std::size_t k = 0; k < runs.size(); ++k) runs[k].label = labels[k];
  }
}

}  // namespace

std::vector<Run> read_runs(const std::vector<fs::path>& folders) {
  std::vector<Run> all;
  for (const fs::path& folder : folders) {
    if (is_run(folder)) {
      all.push_back(read_run(folder));
    } else {
      read_comparison_into(all, folder);
    }
  }
  std::set<fs::path> seen;
  for (const Run& run : all) {
    if (!seen.insert(fs::weakly_canonical(run.folder)).second)
      throw std::runtime_error(run.folder.string() + " was given twice: name each run once");
  }
  tell_apart(all);
  for (Run& run : all) {
    if (!run.is_finished())
      run.remarks.emplace_back("It has no result: it goes on, or was ended before its last step.");
  }
  return all;
}

}  // namespace kadam::report
