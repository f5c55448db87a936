// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/quantities.hpp>
#include <launch/session.hpp>
#include <train/save_times.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <csignal>

namespace kadam::train {
namespace {

const auto program_start = std::chrono::steady_clock::now();

struct NamedSignal {
  const char* name;
  int number;
};

// Signals that batch systems and people send to ask a program to end.
constexpr std::array<NamedSignal, 7> known_signals = {{{"SIGTERM", SIGTERM},
                                                       {"SIGUSR1", SIGUSR1},
                                                       {"SIGUSR2", SIGUSR2},
                                                       {"SIGINT", SIGINT},
                                                       {"SIGHUP", SIGHUP},
                                                       {"SIGXCPU", SIGXCPU},
                                                       {"SIGCONT", SIGCONT}}};

volatile std::sig_atomic_t arrived_signal = 0;

}  // namespace

extern "C" {
static void kadam_note_signal(int number) {
  arrived_signal = number;
  // The next one is not caught.
  (void)std::signal(number, SIG_DFL);
}
}

double program_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - program_start).count();
}

void CheckpointOptions::set_every(const std::string& text) {
  const bool is_count = !text.empty() && std::all_of(text.begin(), text.end(),
                                                     [](unsigned char c) { return std::isdigit(c) != 0; });
  if (is_count) {
    every_steps = launch::count_of("--checkpoint-every", text);
  } else {
    every_seconds = launch::duration_of("--checkpoint-every", text);
  }
}

void CheckpointOptions::validate(bool compares) const {
  if (folder.empty()) {
    for (const auto& [option, is_given] :
         {std::pair{"--checkpoint-every", every_steps > 0 || every_seconds > 0.0},
          std::pair{"--resume auto", resume == "auto"}, std::pair{"--walltime", walltime_seconds > 0.0}}) {
      if (is_given)
        throw launch::UsageError(fmt::format("{} needs a folder: give it with --checkpoint FOLDER", option));
    }
  }
  if (keep < 0)
    throw launch::UsageError(
        fmt::format("--checkpoint-keep {}: expected a number of checkpoints, or 0 for all", keep));
  if (compares && !resume.empty() && resume != "auto") {
    throw launch::UsageError(
        "--resume with --compare: expected auto, because each optimizer goes on from its own newest "
        "checkpoint");
  }
}

std::string CheckpointOptions::when_saved() const {
  if (folder.empty()) return "";
  return fmt::format("--checkpoint {} --checkpoint-every {} --checkpoint-failure {}", folder.string(),
                     every_steps > 0 ? std::to_string(every_steps) : "TIME",
                     goes_on_unsaved ? "continue" : "stop");
}

std::uint32_t SaveTimes::wishes(bool has_clock) const {
  std::uint32_t wishes = 0;
  if (!StopSignals::arrived().empty()) wishes |= wish_stop;
  if (!has_clock) return wishes;
  if (options_.walltime_seconds > 0.0 && program_seconds() >= options_.walltime_seconds) wishes |= wish_stop;
  if (options_.every_seconds > 0.0 && since_last_.seconds() >= options_.every_seconds) wishes |= wish_save;
  return wishes;
}

bool SaveTimes::is_due(std::int64_t step, std::uint32_t raised) const {
  if (options_.folder.empty()) return false;
  return raised != 0 || (options_.every_steps > 0 && step % options_.every_steps == 0);
}

StopSignals::StopSignals(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string whole = name.starts_with("SIG") ? name : "SIG" + name;
    int number = 0;
    std::string all;
    for (const NamedSignal& one : known_signals) {
      if (whole == one.name) number = one.number;
      all.append(all.empty() ? "" : ", ").append(one.name);
    }
    if (number == 0) throw launch::UsageError("--stop-on " + name + ": expected signals from " + all);
    numbers_.push_back(number);
  }
  arrived_signal = 0;
  for (const int number : numbers_) (void)std::signal(number, kadam_note_signal);
}

StopSignals::~StopSignals() {
  for (const int number : numbers_) (void)std::signal(number, SIG_DFL);
}

std::string StopSignals::arrived() {
  const int number = arrived_signal;
  for (const NamedSignal& one : known_signals) {
    if (number == one.number) return one.name;
  }
  return "";
}

}  // namespace kadam::train
