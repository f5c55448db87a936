// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/quantities.hpp>
#include <launch/shell_word.hpp>
#include <report/facts.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

namespace kadam::report {
namespace {

using TextOfRun = std::function<std::string(const Run&)>;

std::string text_of(const Start& start, const char* name) {
  const auto found = start.texts.find(name);
  return found == start.texts.end() ? "" : found->second;
}

/// Of the last start, which is the one that came to the end; empty without any.
TextOfRun of_last_start(const std::function<std::string(const Start&)>& text) {
  return [text](const Run& run) { return run.starts.empty() ? std::string() : text(run.starts.back()); };
}

/// "2026-11-22T23:40:01Z" -> "2026-11-22 23:40 UTC"; what is no such time, as it is.
std::string time_text(const std::string& time) {
  const std::string_view text = time;
  if (text.size() != 20 || text[10] != 'T') return time;
  return fmt::format("{} {} UTC", text.substr(0, 10), text.substr(11, 5));
}

std::string count_text(const Run& run, const char* name) {
  constexpr double largest = 1e15;
  const auto number = number_of(run.facts, name);
  if (!number || std::abs(*number) > largest) return "";
  return launch::grouped(static_cast<std::int64_t>(*number));
}

std::string model_text(const Run& run) {
  const std::string parameters = count_text(run, "parameters");
  return run.model + (parameters.empty() ? "" : " of " + parameters + " parameters");
}

std::string training_text(const Run& run) {
  const std::string steps = count_text(run, "steps");
  const std::string examples = count_text(run, "examples_per_step");
  return steps.empty() || examples.empty() ? "" : steps + " steps of " + examples + " examples";
}

std::string ranks_text(const Start& start) {
  if (start.ranks == 0) return "";
  return fmt::format("{}; {} thread{} of {} each", text_of(start, "exchange"), start.threads,
                     start.threads == 1 ? "" : "s", text_of(start, "execution_space"));
}

std::string machine_text(const Start& start) {
  const std::string processor = text_of(start, "processor");
  return text_of(start, "host") + (processor.empty() ? "" : ", " + processor);
}

std::string software_text(const Start& start) {
  std::string build = text_of(start, "build");
  for (std::size_t at = 0; (at = build.find('\n', at)) != std::string::npos; at += 2)
    build.replace(at, 1, "; ");
  return build;
}

/// Everything once, in the order of its first run.
std::vector<std::string> distinct(const std::vector<Run>& runs, const TextOfRun& text) {
  std::vector<std::string> all;
  for (const Run& run : runs) {
    const std::string one = text(run);
    if (!one.empty() && std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
  return all;
}

std::vector<std::string> said_of(const std::vector<Run>& runs, const TextOfRun& text) {
  const std::vector<std::string> all = distinct(runs, text);
  if (all.size() <= 1) return all;
  std::vector<std::string> with_labels;
  for (const std::string& one : all) {
    std::vector<std::string> labels;
    for (const Run& run : runs) {
      if (text(run) == one) labels.push_back(run.label);
    }
    with_labels.push_back(fmt::format("{}: {}", fmt::join(labels, ", "), one));
  }
  return with_labels;
}

std::vector<std::string> times_of(const std::vector<Run>& runs) {
  const auto first_time = [](const Run& run) {
    return run.starts.empty() ? std::string() : text_of(run.starts.front(), "time");
  };
  std::vector<std::string> times = distinct(runs, first_time);
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  const std::string first = time_text(times.front());
  const std::string last = time_text(times.back());
  std::vector<std::string> said = {first == last ? "started " + first
                                                 : "first run started " + first + ", last one " + last};
  for (const Run& run : runs) {
    for (std::size_t k = 1; k < run.starts.size(); ++k) {
      said.push_back(fmt::format("{}: went on after step {} at {}", run.label, run.starts[k].after_step,
                                 time_text(text_of(run.starts[k], "time"))));
    }
  }
  return said;
}

/// The words after what the program found around it.
std::string shell_lines(const Start& start, const std::vector<std::string>& words) {
  if (words.empty()) return "";
  std::string lines;
  const std::string folder = text_of(start, "folder");
  if (!folder.empty()) lines += "cd " + launch::shell_word(folder) + "\n";
  for (const auto& [name, value] : start.environment)
    lines += "export " + name + "=" + launch::shell_word(value) + "\n";
  if (start.ranks > 1) lines += fmt::format("mpirun -n {} ", start.ranks);
  for (std::size_t k = 0; k < words.size(); ++k) {
    if (k > 0) lines += ' ';
    lines += launch::shell_word(words[k]);
  }
  return lines;
}

}  // namespace

std::vector<std::pair<std::string, std::vector<std::string>>> facts_of(const std::vector<Run>& runs) {
  std::vector<std::pair<std::string, std::vector<std::string>>> facts = {
      {"Model", said_of(runs, model_text)},
      {"Data", said_of(runs, [](const Run& run) { return run.data; })},
      {"Training", said_of(runs, training_text)},
      {"When", times_of(runs)},
      {"Ranks", said_of(runs, of_last_start(ranks_text))},
      {"Machine", said_of(runs, of_last_start(machine_text))},
      {"Software", said_of(runs, of_last_start(software_text))}};
  std::erase_if(facts, [](const auto& fact) { return fact.second.empty(); });
  return facts;
}

std::vector<std::string> repetitions_of(const std::vector<Run>& runs) {
  return distinct(runs,
                  of_last_start([](const Start& start) { return shell_lines(start, start.repetition); }));
}

std::vector<std::string> commands_of(const std::vector<Run>& runs) {
  return distinct(runs, of_last_start([](const Start& start) { return shell_lines(start, start.command); }));
}

}  // namespace kadam::report
