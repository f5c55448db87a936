// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <mpi.h>

#include <memory>

namespace kadam {

/// A communicator over a duplicate of the caller's MPI communicator; the caller keeps and frees its own.
///
/// Collective: by all ranks of the communicator; so is the destruction.
/// Errors: MpiError when MPI is not initialised, already finalised, or refuses.
[[nodiscard]] std::shared_ptr<Communicator> make_mpi_communicator(MPI_Comm communicator,
                                                                  Staging staging = Staging::automatic);

}  // namespace kadam
