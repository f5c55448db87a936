// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/commands.hpp>
#include <bench/growth.hpp>

#include <fmt/format.h>

namespace kadam::bench {

GrowthCommand::GrowthCommand(launch::Options& program)
    : options_(program.add_command(
          "growth", "Counts messages, memory and kernels of one rank of many, beside those of the plan.",
          "kadam-bench growth [--elements N] [--ranks LIST] [--ranks-per-node N] [--json]")) {
  options_
      .add("--elements", "N", elements_,
           "elements of the vector; each takes about 40 bytes of memory (default\n1048576)")
      .range(std::int64_t{1}, std::int64_t{1} << 33);
  options_
      .add("--ranks", "LIST", ranks_,
           "numbers of ranks; this process plays the first rank of each\n(default 2,4,8,16,32,64,128,256)")
      .comma_separated()
      .range(std::int64_t{1}, std::int64_t{1} << 16);
  options_
      .add("--ranks-per-node", "N", ranks_per_node_,
           "ranks of a node, for two levels; must divide each number of --ranks\n(default 1: one level)")
      .range(1, 1 << 16);
  options_.add("--steps", "N", steps_, "steps that are counted; figures are means over them (default 8)")
      .range(1, 100000);
  options_
      .add("--repetitions", "N", repetitions_, "runs of these steps; the fastest kernels count (default 3)")
      .range(1, 100000);
  options_.add("--only", "TEXT", only_, "only optimizers with this text in their name; may be repeated")
      .repeatable();
  options_.add_flag("--json", json_, "prints one JSON object per line instead of the table");
}

bool GrowthCommand::is_chosen() const {
  return options_.is_chosen();
}

int GrowthCommand::run(const launch::Session& session) const {
  std::vector<std::string> wanted;
  session.prepare([&] {
    if (session.communicator()->size() > 1)
      throw launch::UsageError("kadam-bench growth plays one rank in one process: start it without mpirun");
    if (!kernels_run_on_host)
      throw launch::UsageError("kadam-bench growth plays a rank in host memory: use a build for processors");
    wanted = wanted_optimizers(only_);
    for (const std::int64_t ranks : ranks_) {
      if (ranks % ranks_per_node_ != 0) {
        throw launch::UsageError(
            fmt::format("{} ranks per node do not divide {} ranks", ranks_per_node_, ranks));
      }
    }
  });
  if (!json_) {
    print_now(fmt::format("One rank of many, {}, d = {}; per step\n\n{}", launch::computes_with(), elements_,
                          growth_table_head()));
  }
  for (const std::string& name : wanted) {
    for (const std::int64_t ranks : ranks_) {
      const GrowthResult result =
          measure_growth({name, elements_, static_cast<int>(ranks), ranks_per_node_, steps_, repetitions_});
      print_now(json_ ? json_line_of(result) : growth_table_row(result));
    }
  }
  return launch::exit_success;
}

}  // namespace kadam::bench
