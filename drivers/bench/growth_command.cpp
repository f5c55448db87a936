// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/commands.hpp>
#include <bench/growth.hpp>

#include <fmt/format.h>

namespace kadam::bench {

GrowthCommand::GrowthCommand(launch::Options& program)
    : options_(program.add_command(
          "growth", "Counts what one rank of many sends, holds and computes, beside the plan.",
          "kadam-bench growth [--elements N] [--ranks LIST] [--ranks-per-node N] [--json]")) {
  options_
      .add("--elements", "N", elements_,
           "of the vector, on each rank; about 40 bytes of memory each (default\n1048576)")
      .range(std::int64_t{1}, std::int64_t{1} << 33);
  options_
      .add("--ranks", "LIST", ranks_,
           "how many there are: this process plays the first of them\n(default 2,4,8,16,32,64,128,256)")
      .comma_separated()
      .range(std::int64_t{1}, std::int64_t{1} << 16);
  options_
      .add("--ranks-per-node", "N", ranks_per_node_,
           "in two levels: dense between so many, a divisor of all of --ranks\n(default 1: one level)")
      .range(1, 1 << 16);
  options_.add("--steps", "N", steps_, "that are counted, the mean of them (default 8)").range(1, 100000);
  options_.add("--repetitions", "N", repetitions_, "runs of them; the fastest counts (default 3)")
      .range(1, 100000);
  options_.add("--only", "TEXT", only_, "optimizers whose names hold this text; may be repeated")
      .repeatable();
  options_.add_flag("--json", json_, "a JSON object a line instead of the table");
}

bool GrowthCommand::is_chosen() const {
  return options_.is_chosen();
}

int GrowthCommand::run(const launch::Session& session) const {
  std::vector<std::string> wanted;
  session.prepare([&] {
    if (session.communicator()->size() > 1)
      throw launch::UsageError("kadam-bench growth plays a rank by itself: start it without mpirun");
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
