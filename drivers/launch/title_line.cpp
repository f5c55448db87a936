// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/version.hpp>
#include <launch/title_line.hpp>

#include <fmt/format.h>

namespace kadam::launch {

std::string title_line(const Communicator& program) {
  return fmt::format("Kadam {}: {}, {}", KADAM_VERSION_STRING, program.description(), threads_text());
}

std::string threads_text() {
  const int threads = ExecutionSpace().concurrency();
  return fmt::format("{} thread{} of {} each", threads, threads == 1 ? "" : "s", ExecutionSpace::name());
}

}  // namespace kadam::launch
