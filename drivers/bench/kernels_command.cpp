// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/commands.hpp>
#include <bench/kernel_cases.hpp>
#include <bench/kernel_results.hpp>
#include <kadam/version.hpp>
#include <launch/progress.hpp>
#include <launch/session.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

namespace kadam::bench {
namespace {

std::vector<KernelCase> cases_of(const Vectors& vectors, const std::vector<std::string>& only) {
  std::vector<KernelCase> cases = limit_cases(vectors);
  for (auto& more : {dense_cases(vectors), lamb_cases(vectors), codec_cases(vectors), loco_cases(vectors),
                     sparse_cases(vectors), low_rank_cases(vectors), spectral_cases(vectors),
                     freeze_cases(vectors), small_step_cases()}) {
    for (const KernelCase& one : more) {
      if (is_wanted(one.kernel, only)) cases.push_back(one);
    }
  }
  return cases;
}

}  // namespace

KernelsCommand::KernelsCommand(launch::Options& program)
    : options_(program.add_command(
          "kernels", "Measures every kernel of the library: milliseconds, bytes, ratio to the limit.",
          "kadam-bench kernels [--elements N] [--threads N] [--json]")) {
  options_
      .add("--elements", "N", elements_,
           "elements of a vector; each takes about 53 bytes of memory\n(default 67108864)")
      .range(std::int64_t{64}, std::int64_t{1} << 33);
  options_.add("--repetitions", "N", repetitions_, "runs of each kernel; the median counts (default 21)")
      .range(1, 100000);
  options_.add("--threads", "N", threads_, "threads of the CPU (default: OMP_NUM_THREADS, or all cores)")
      .range(1, 4096);
  options_
      .add("--only", "TEXT", only_,
           "only kernels with this text in their name, and the limits; may be\nrepeated")
      .repeatable();
  options_.add_flag("--json", json_, "prints one JSON object per line instead of the table");
}

bool KernelsCommand::is_chosen() const {
  return options_.is_chosen();
}

void KernelsCommand::set_threads(int argc, char** argv) {
  constexpr std::string_view option = "--threads";
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (!word.starts_with(option)) continue;
    int threads = 0;
    if (word == option && k + 1 < argc) threads = std::atoi(argv[k + 1]);
    if (word.starts_with("--threads=")) threads = std::atoi(argv[k] + option.size() + 1);
    if (threads > 0) ::setenv("KOKKOS_NUM_THREADS", std::to_string(threads).c_str(), 1);
  }
}

int KernelsCommand::run(const launch::Session& session) const {
  if (session.communicator()->size() > 1) {
    throw launch::UsageError("kernels are measured in one process: start kadam-bench without mpirun");
  }
  const Vectors vectors(elements_);
  const std::vector<KernelCase> cases = cases_of(vectors, only_);
  launch::TransientLine progress(true);
  const auto timings = measure(cases, repetitions_, [&](int repetition) {
    progress.says(fmt::format("{} of {}", repetition + 1, repetitions_));
  });
  progress.clear();
  const auto results = results_of(cases, timings);
  if (json_) {
    fmt::print("{}", json_lines_of(results));
  } else {
    fmt::print("Kadam {}: {}, medians of {}\n\n{}", KADAM_VERSION_STRING, launch::computes_with(),
               repetitions_, table_of(results));
  }
  return launch::exit_success;
}

}  // namespace kadam::bench
