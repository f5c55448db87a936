// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/terminal.hpp>

#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace kadam::launch {

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

}  // namespace kadam::launch
