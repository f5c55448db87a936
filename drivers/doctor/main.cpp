// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// kadam-doctor: what was built and found here, one exchange as a test, advice; which optimizers there are.
#include <doctor/findings.hpp>
#include <kadam/config.hpp>
#include <kadam/optim/optimizer_names.hpp>
#include <launch/command_line.hpp>
#include <launch/quantities.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <variant>
#include <vector>

namespace kadam::doctor {
namespace {

using launch::Session;

const char* yes_no(bool value) {
  return value ? "yes" : "no";
}

void print_build() {
  fmt::print("{}, {}\n", launch::build_info("kadam-doctor"), KADAM_BUILD_TYPE);
#ifdef KADAM_ENABLE_NCCL
  fmt::print("NCCL inside a node: built in\n");
#endif
  fmt::print("\n");
}

/// The same for all ranks, or least to most.
std::string span(const Findings& findings, int Seat::*of) {
  int least = findings.seats.front().*of;
  int most = least;
  for (const Seat& seat : findings.seats) {
    least = std::min(least, seat.*of);
    most = std::max(most, seat.*of);
  }
  return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

void print_findings(const Findings& findings, const Communicator& communicator) {
  fmt::print("{:<32}{} on {} node{}\n", "ranks", findings.ranks(), findings.nodes(),
             findings.nodes() == 1 ? "" : "s");
  fmt::print("{:<32}{}\n", "threads of a rank", span(findings, &Seat::threads));
  fmt::print("{:<32}{} of {} on the node\n", "cores a rank may use", span(findings, &Seat::cores),
             findings.cores_on_node);
  fmt::print("{:<32}{}\n", "exchange", communicator.description());
  fmt::print("{:<32}{}\n", "messages through host memory", yes_no(findings.staged));
  fmt::print("{:<32}{}\n", "background threads may send", yes_no(findings.threads_may_exchange));
  fmt::print("{:<32}{}\n", "others survive a failed rank",
             findings.survives_failures
                 ? "yes"
                 : "no: set KADAM_WIRE=tcp, or use mpirun --with-ft ulfm of Open MPI 5");
  if (!findings.slurm_job.empty())
    fmt::print("{:<32}job {}, partition {}\n", "Slurm", findings.slurm_job, findings.slurm_partition);
}

void print_test(const SelfTest& test, int ranks) {
  fmt::print("\n{:<32}{}: parameters {} on all ranks, {:.3f} from the minimum\n", "self-test",
             test.passed() ? "passed" : "FAILED", test.equal_on_all_ranks ? "bitwise equal" : "DIFFER",
             test.error);
  if (ranks == 1) return;
  fmt::print(
      "{:<32}{}, {} sent per step (adam: {}, {})\n", "onebit_adam, 10^6 parameters",
      launch::seconds_text(test.step_seconds), launch::bytes_text(static_cast<double>(test.sent_bytes)),
      launch::seconds_text(test.dense_seconds), launch::bytes_text(static_cast<double>(test.dense_bytes)));
}

using Json = nlohmann::ordered_json;

Json to_json(const OptionValue& value) {
  return std::visit([](const auto& held) -> Json { return held; }, value);
}

Json options_of(const std::string& name) {
  Json all = Json::array();
  for (const OptionHelp& option : optimizer_options(name)) {
    all.push_back({{"name", option.name}, {"default", to_json(option.value)}, {"help", option.help}});
  }
  return all;
}

std::vector<std::string> words_of(const OptimizerTraits& traits) {
  std::vector<std::string> words;
  if (traits.dense) words.emplace_back("sends exact means");
  if (!traits.codes.empty()) words.push_back(fmt::format("codes: {}", fmt::join(traits.codes, ", ")));
  if (traits.sparse) words.emplace_back("sends the largest entries");
  if (traits.freezes) words.emplace_back("freezes the variance");
  if (traits.local_moments) words.emplace_back("each rank has its own moments");
  if (traits.shards) words.emplace_back("divides the moments over the ranks");
  if (traits.matrices) words.emplace_back("treats matrices differently");
  if (traits.ranks_differ) words.emplace_back("ranks may differ between synchronisations");
  if (traits.needs_warmup) words.push_back("needs " + traits.warmup);
  if (!traits.suits.empty()) words.push_back("use it where " + traits.suits);
  return words;
}

/// Says what each optimizer is, one line each: its name, and its traits in words.
std::string optimizers_as_text() {
  std::string text;
  for (const std::string& name : optimizer_names()) {
    text += fmt::format("{:<26}{}\n", name, fmt::join(words_of(optimizer_traits(name)), "; "));
  }
  return text;
}

/// Lists all optimizers as a JSON array: of each its name, its traits, and its options with default and text.
std::string optimizers_as_json() {
  Json all = Json::array();
  for (const std::string& name : optimizer_names()) {
    const OptimizerTraits& traits = optimizer_traits(name);
    all.push_back({{"name", name},
                   {"dense", traits.dense},
                   {"warmup", traits.warmup},
                   {"needs_warmup", traits.needs_warmup},
                   {"freezes", traits.freezes},
                   {"sparse", traits.sparse},
                   {"local_moments", traits.local_moments},
                   {"shards", traits.shards},
                   {"per_tensor", traits.per_tensor},
                   {"ranks_differ", traits.ranks_differ},
                   {"matrices", traits.matrices},
                   {"suits", traits.suits},
                   {"codes", traits.codes},
                   {"options", options_of(name)}});
  }
  return all.dump(2) + "\n";
}

int run(Session& session, int argc, char** argv) {
  launch::Options options(
      "kadam-doctor",
      "Describes this build and this machine, tests an exchange between all ranks, and gives advice.",
      "mpirun -n RANKS kadam-doctor");
  bool lists_optimizers = false;
  bool as_json = false;
  options.add_flag("--optimizers", lists_optimizers, "only list the optimizers and their kinds");
  options.add_flag("--json", as_json, "with --optimizers: print JSON, with all options and their defaults");
  if (const auto code = options.parse(session, argc, argv)) return *code;
  session.prepare([&] {
    if (as_json && !lists_optimizers) throw launch::UsageError("--json needs --optimizers: give both");
  });
  if (lists_optimizers) {
    if (session.is_root()) fmt::print("{}", as_json ? optimizers_as_json() : optimizers_as_text());
    return launch::exit_success;
  }
  const Findings findings = look_around(*session.communicator());
  if (session.is_root()) {
    print_build();
    print_findings(findings, *session.communicator());
    std::fflush(stdout);
  }
  const SelfTest test = run_self_test(session.communicator());
  if (session.is_root()) {
    print_test(test, findings.ranks());
    const std::vector<std::string> sentences = advice(findings);
    fmt::print("\n{}\n", sentences.empty() ? "All is well." : "Advice:");
    for (const std::string& sentence : sentences) fmt::print("- {}\n", sentence);
  }
  return test.passed() ? launch::exit_success : launch::exit_failure;
}

}  // namespace
}  // namespace kadam::doctor

int main(int argc, char** argv) {
  return kadam::launch::run_program("kadam-doctor", argc, argv, kadam::doctor::run);
}
