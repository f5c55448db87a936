// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/mpi_communicator.hpp>

namespace kadam::test {

/// Staged messages travel in many small pieces as well, each longer than what one message may be.
inline MpiOptions mpi_options(Staging staging) {
  if (staging == Staging::automatic) return {};
  return {{staging, 400}, 256};
}

}  // namespace kadam::test
