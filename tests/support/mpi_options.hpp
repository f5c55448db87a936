// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/mpi_communicator.hpp>

namespace kadam::test {

/// Options for a test. Unless staging is automatic, messages are also cut into pieces of 400 bytes, each
/// longer than the 256 bytes that one MPI message may have.
inline MpiOptions mpi_options(Staging staging, int ranks_per_node = 1) {
  MpiOptions options;
  if (staging != Staging::automatic) options = {{staging, 400}, 256};
  options.ranks_per_node = ranks_per_node;
  return options;
}

}  // namespace kadam::test
