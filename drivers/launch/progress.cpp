// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/progress.hpp>
#include <launch/terminal.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>
#include <utility>

namespace kadam::launch {

Progress::Progress(std::string title, std::int64_t steps, bool enabled)
    : title_(std::move(title)),
      steps_(steps),
      enabled_(enabled),
      terminal_(launch::is_terminal(STDOUT_FILENO)) {}

void Progress::start_after(std::int64_t step) {
  first_ = step;
  shown_tenths_ = step * 10 / steps_;
  timer_.reset();
  shown_at_ = 0.0;
}

void Progress::update(std::int64_t step, const std::string& words) {
  if (!enabled_) return;
  const double elapsed = timer_.seconds();
  const double left = elapsed / static_cast<double>(step - first_) * static_cast<double>(steps_ - step);
  if (terminal_) {
    if (elapsed - shown_at_ < 0.1 && step < steps_) return;
    shown_at_ = elapsed;
    constexpr std::int64_t width = 24;
    const auto done = static_cast<std::size_t>(width * step / steps_);
    fmt::print("\r\x1b[2K{:<12} [{}{}] {}/{}  {}  {:.0f} s left", title_, std::string(done, '#'),
               std::string(static_cast<std::size_t>(width) - done, '.'), step, steps_, words, left);
  } else if (step * 10 / steps_ != shown_tenths_) {
    shown_tenths_ = step * 10 / steps_;
    fmt::print("{:<12} step {:>6}/{}  {}  {:.1f} s\n", title_, step, steps_, words, elapsed);
  }
  std::fflush(stdout);
}

void Progress::finish() {
  if (enabled_ && terminal_) fmt::print("\r\x1b[2K");
}

}  // namespace kadam::launch
