// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <mpi.h>

#include <cstddef>
#include <memory>

namespace kadam {

struct MpiOptions {
  ExchangeOptions exchange;
  /// The greatest length of a message; a longer one travels in parts, because MPI counts bytes with an int.
  std::size_t largest_message_bytes = std::size_t{1} << 30;
  /// 1: one level; 0, or more than 1: two, see Communicator::form_levels().
  int ranks_per_node = 1;
  /// Accepts a single rank, even if the process was started as one of several: see refuse_to_be_alone().
  bool allow_alone = false;
};

/// Makes a communicator over a duplicate of the caller's MPI communicator; the caller keeps and frees the
/// original.
///
/// Collective: by all ranks of the communicator; so is the destruction. Errors: MpiError when MPI is not
/// initialised, already finalised, or refuses; std::invalid_argument unless 0 < largest_message_bytes <= 2^31
/// - 1, and if MPI has a single rank where the launcher started several tasks; those of
/// Communicator::form_levels().
[[nodiscard]] std::shared_ptr<Communicator> make_mpi_communicator(MPI_Comm communicator,
                                                                  const MpiOptions& options = {});

}  // namespace kadam
