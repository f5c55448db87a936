// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/transient_line.hpp>
#include <launch/terminal.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>

namespace kadam::bench {

TransientLine::TransientLine(bool enabled) : enabled_(enabled && launch::is_terminal(STDERR_FILENO)) {}

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
