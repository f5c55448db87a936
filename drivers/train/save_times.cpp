// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/quantities.hpp>
#include <launch/session.hpp>
#include <launch/stop_signals.hpp>
#include <train/save_times.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>

namespace kadam::train {
namespace {

const auto program_start = std::chrono::steady_clock::now();

}  // namespace

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
        throw launch::UsageError(
            fmt::format("{} needs a folder: say which with --checkpoint FOLDER", option));
    }
  }
  if (keep < 0) throw launch::UsageError("--checkpoint-keep: expected 0 (all) or a number of checkpoints");
  if (compares && !resume.empty() && resume != "auto") {
    throw launch::UsageError(
        "--resume with --compare takes auto: every algorithm goes on from its own newest checkpoint");
  }
}

std::uint32_t SaveTimes::wishes() const {
  std::uint32_t wishes = 0;
  if (!launch::StopSignals::arrived().empty()) wishes |= wish_stop;
  if (!has_clock_) return wishes;
  if (options_.walltime_seconds > 0.0 && program_seconds() >= options_.walltime_seconds) wishes |= wish_stop;
  if (options_.every_seconds > 0.0 && since_last_.seconds() >= options_.every_seconds) wishes |= wish_save;
  return wishes;
}

bool SaveTimes::is_due(std::int64_t step, std::uint32_t raised) const {
  if (options_.folder.empty()) return false;
  return raised != 0 || (options_.every_steps > 0 && step % options_.every_steps == 0);
}

}  // namespace kadam::train
