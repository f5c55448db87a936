// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <fmt/format.h>

#include <bench/transient_line.hpp>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace kadam::bench {
namespace {

/// Whether a person watches standard error. Under Open MPI it is a pipe: its parent, mpirun, knows where that
/// ends.
bool error_is_terminal() {
  if (::isatty(STDERR_FILENO) == 1) return true;
  if (std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr) return false;
  const std::string parent = fmt::format("/proc/{}/fd/2", ::getppid());
  const int descriptor = ::open(parent.c_str(), O_WRONLY | O_NOCTTY);
  if (descriptor < 0) return false;
  const bool terminal = ::isatty(descriptor) == 1;
  ::close(descriptor);
  return terminal;
}

}  // namespace

TransientLine::TransientLine(bool enabled) : enabled_(enabled && error_is_terminal()) {}

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

}  // namespace kadam::bench
