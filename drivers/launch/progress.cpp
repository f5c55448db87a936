// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/progress.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace kadam::launch {
namespace {

/// Whether a person watches what is written to this descriptor (STDOUT_FILENO, STDERR_FILENO). Open MPI gives
/// each rank a pipe or a terminal of its own and passes on what is written there: only its parent, mpirun,
/// knows where it ends.
bool is_terminal(int descriptor) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return ::isatty(descriptor) == 1;
  struct stat own = {};
  if (::fstat(descriptor, &own) == 0 && S_ISREG(own.st_mode))
    return false;  // a shell in between wrote a file
  const std::string parents = "/proc/" + std::to_string(::getppid()) + "/fd/" + std::to_string(descriptor);
  const int parents_descriptor = ::open(parents.c_str(), O_WRONLY | O_NOCTTY);
  if (parents_descriptor < 0) return false;
  const bool terminal = ::isatty(parents_descriptor) == 1;
  ::close(parents_descriptor);
  return terminal;
}

}  // namespace

Progress::Progress(std::string title, std::int64_t steps, bool enabled)
    : title_(std::move(title)), steps_(steps), enabled_(enabled), terminal_(is_terminal(STDOUT_FILENO)) {}

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

TransientLine::TransientLine(bool enabled) : enabled_(enabled && is_terminal(STDERR_FILENO)) {}

void TransientLine::says(const std::string& words) {
  if (!enabled_) return;
  fmt::print(stderr, "\r\033[K{}", words);
  std::fflush(stderr);
  shown_ = true;
}

void TransientLine::clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace kadam::launch
