// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/session.hpp>
#include <launch/stop_signals.hpp>

#include <array>
#include <csignal>

namespace kadam::launch {
namespace {

struct NamedSignal {
  const char* name;
  int number;
};

// Those that batch systems and people send to ask a program to end.
constexpr std::array<NamedSignal, 7> known = {{{"SIGTERM", SIGTERM},
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

StopSignals::StopSignals(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string whole = name.starts_with("SIG") ? name : "SIG" + name;
    int number = 0;
    std::string all;
    for (const NamedSignal& one : known) {
      if (whole == one.name) number = one.number;
      all.append(all.empty() ? "" : ", ").append(one.name);
    }
    if (number == 0) throw UsageError("--stop-on " + name + ": expected signals out of " + all);
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
  for (const NamedSignal& one : known) {
    if (number == one.number) return one.name;
  }
  return "";
}

}  // namespace kadam::launch
