// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/commands.hpp>
#include <bench/measure_step.hpp>
#include <kadam/optim/optimizer_names.hpp>
#include <kadam/version.hpp>
#include <launch/progress.hpp>
#include <launch/quantities.hpp>
#include <launch/session.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>

namespace kadam::bench {
namespace {

/// Of the ranks that share this one's memory: what each of them may take. Nothing where the system does not
/// tell. Collective.
std::optional<double> memory_of_a_rank(Communicator& communicator) {
  const std::shared_ptr<Communicator> node = communicator.split_by_node();
  const double own = static_cast<double>(available_memory_bytes().value_or(0)) / node->size();
  const std::vector<double> all = communicator.all_gather_values({&own, 1});
  const double least = *std::min_element(all.begin(), all.end());
  return least > 0.0 ? std::optional(least) : std::nullopt;
}

}  // namespace

StepsCommand::StepsCommand(launch::Options& program)
    : options_(program.add_command(
          "steps", "Measures a step of every optimizer: milliseconds, launches, fences.",
          "mpirun -n RANKS kadam-bench steps [--elements N] [--tensors LIST] [--rows N] [--json]")) {
  options_
      .add("--elements", "N", elements_,
           "elements of all tensors; each takes about 40 bytes of memory per rank\n(default 67108864)")
      .range(std::int64_t{1}, std::int64_t{1} << 33);
  options_
      .add("--tensors", "LIST", tensors_,
           "numbers of tensors: matrices and biases in turn, in two parameter\n"
           "groups; 1,400 (default) measures with 1 and with 400")
      .comma_separated()
      .range(std::int64_t{1}, std::int64_t{1} << 24);
  options_
      .add("--rows", "N", rows_,
           "rows of each matrix, for which muon and its kin compute products; 0 (default)\n"
           "gives tensors no shape, and they take all as vectors")
      .range(std::int64_t{0}, std::int64_t{1} << 24);
  options_.add("--only", "TEXT", only_, "only optimizers with this text in their name; may be repeated")
      .repeatable();
  options_.add("--repetitions", "N", repetitions_, "runs of each optimizer; the median counts (default 21)")
      .range(1, 100000);
  options_
      .add("--seconds", "S", seconds_,
           "seconds for all runs: long steps are repeated less often, but run at\nleast once (default 300)")
      .range(1, 1000000);
  options_.add_flag("--json", json_, "prints one JSON object per line instead of the table");
}

bool StepsCommand::is_chosen() const {
  return options_.is_chosen();
}

std::vector<std::string> wanted_optimizers(const std::vector<std::string>& only) {
  const std::vector<std::string> all = optimizer_names();
  std::vector<std::string> wanted = all;
  std::erase_if(wanted, [&](const std::string& name) { return !is_wanted(name, only); });
  if (wanted.empty()) {
    throw launch::UsageError(fmt::format("no optimizer has '{}' in its name; the names are {}", only.front(),
                                         fmt::join(all, "; ")));
  }
  return wanted;
}

int StepsCommand::run(const launch::Session& session) const {
  std::vector<std::string> wanted;
  std::vector<TensorLayout> layouts;
  session.prepare([&] {
    wanted = wanted_optimizers(only_);
    for (const std::int64_t tensors : tensors_)
      layouts.push_back(alternating_tensors(elements_, tensors, rows_));
  });
  const auto& communicator = session.communicator();
  const std::optional<double> memory = memory_of_a_rank(*communicator);
  std::vector<std::string> fitting;
  std::string needs =
      memory ? fmt::format("Memory: {} for each rank", launch::bytes_text(*memory)) : "Memory";
  for (const std::string& name : wanted) {
    const auto needed = static_cast<double>(step_memory_bytes(name, elements_, *communicator));
    const bool fits = !memory || needed <= *memory;
    needs += fmt::format("; {} needs {}{}", name, launch::bytes_text(needed), fits ? "" : " and is left out");
    if (fits) fitting.push_back(name);
  }
  wanted = fitting;
  if (session.is_root() && !json_) {
    print_now(fmt::format("{}\n{}\n\n{}", launch::title_line(*communicator), needs, step_table_head()));
  }
  launch::TransientLine line(session.is_root());
  std::size_t left = wanted.size() * layouts.size();
  double seconds = seconds_;  // that are left
  for (const TensorLayout& layout : layouts) {
    for (const std::string& name : wanted) {
      const Effort effort = {repetitions_, seconds / static_cast<double>(left)};
      const StepResult result = measure_step(name, layout, communicator, effort, [&](int repetition) {
        line.says(fmt::format("{}, {} tensors: run {}", name, layout.tensors().size(), repetition + 1));
      });
      line.clear();
      seconds = std::max(0.0, seconds - result.spent_seconds);
      --left;
      if (session.is_root()) print_now(json_ ? json_line_of(result) : step_table_row(result));
    }
  }
  return launch::exit_success;
}

}  // namespace kadam::bench
