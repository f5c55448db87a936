// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-bench: what the kernels reach of the memory's speed.
#include <kadam/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <bench/kernel_table.hpp>
#include <bench/vectors.hpp>
#include <cstdlib>
#include <launch/command_line.hpp>
#include <launch/session.hpp>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace kadam::bench {
namespace {

using launch::Session;

struct CommandLine {
  std::int64_t elements = std::int64_t{1} << 26;
  int repetitions = 21;
  int threads = 0;
  std::vector<std::string> only;
  bool json = false;
};

std::optional<int> parse(Session& session, int argc, char** argv, CommandLine& line) {
  const auto app = launch::make_command_line(
      "kadam-bench", "Measures the kernels against the speed of the memory, in one process.",
      "kadam-bench kernels [--elements N] [--threads N] [--json]");
  CLI::App* kernels =
      app->add_subcommand("kernels", "every kernel of the library: milliseconds, bytes, ratio");
  kernels
      ->add_option("--elements", line.elements,
                   "of a vector; about 45 bytes of memory each (default 67108864)")
      ->type_name("N")
      ->check(CLI::Range(std::int64_t{64}, std::int64_t{1} << 33).description(""));
  kernels
      ->add_option("--repetitions", line.repetitions, "runs of each kernel; the median counts (default 21)")
      ->type_name("N")
      ->check(CLI::Range(1, 100000).description(""));
  kernels->add_option("--threads", line.threads, "of a CPU (default: OMP_NUM_THREADS, or all cores)")
      ->type_name("N")
      ->check(CLI::Range(1, 4096).description(""));
  kernels
      ->add_option("--only", line.only, "kernels whose names hold this text, and the limits; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  kernels->add_flag("--json", line.json, "a JSON object a line instead of the table");
  app->require_subcommand(1);
  return launch::parse(*app, session, argc, argv);
}

/// Kokkos starts its threads before the command line is read. What is no number is refused there.
void set_threads(int argc, char** argv) {
  for (int k = 1; k + 1 < argc; ++k) {
    if (std::string_view(argv[k]) == "--threads" && std::atoi(argv[k + 1]) > 0) {
      ::setenv("KOKKOS_NUM_THREADS", std::to_string(std::atoi(argv[k + 1])).c_str(), 1);
    }
  }
}

bool is_wanted(const std::string& kernel, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& text) {
           return kernel.find(text) != std::string::npos;
         });
}

std::vector<KernelCase> cases_of(const Vectors& vectors, const std::vector<std::string>& only) {
  std::vector<KernelCase> cases = limit_cases(vectors);
  for (auto& more : {dense_cases(vectors), lamb_cases(vectors), codec_cases(vectors), loco_cases(vectors),
                     sparse_cases(vectors), freeze_cases(vectors), small_step_cases()}) {
    for (const KernelCase& one : more) {
      if (is_wanted(one.kernel, only)) cases.push_back(one);
    }
  }
  return cases;
}

int run(Session& session, int argc, char** argv) {
  CommandLine line;
  if (const auto code = parse(session, argc, argv, line)) return *code;
  if (session.communicator()->size() > 1) {
    throw launch::UsageError("kernels are measured in one process: start kadam-bench without mpirun");
  }
  const Vectors vectors(line.elements);
  const std::vector<KernelCase> cases = cases_of(vectors, line.only);
  const bool shows_progress = ::isatty(STDERR_FILENO) != 0;
  const auto timings = measure(cases, line.repetitions, [&](int repetition) {
    if (shows_progress) fmt::print(stderr, "\r{} of {}", repetition + 1, line.repetitions);
  });
  if (shows_progress) fmt::print(stderr, "\r\033[K");
  const auto results = results_of(cases, timings);
  if (line.json) {
    fmt::print("{}", json_lines_of(results));
  } else {
    const int threads = ExecutionSpace().concurrency();
    fmt::print("Kadam {}: {} thread{} of {}, medians of {}\n\n{}", KADAM_VERSION_STRING, threads,
               threads == 1 ? "" : "s", ExecutionSpace::name(), line.repetitions, table_of(results));
  }
  return launch::exit_success;
}

}  // namespace
}  // namespace kadam::bench

int main(int argc, char** argv) {
  kadam::bench::set_threads(argc, argv);
  return kadam::launch::run_program("kadam-bench", argc, argv, kadam::bench::run);
}
