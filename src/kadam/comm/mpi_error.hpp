// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <stdexcept>

namespace kadam {

/// An MPI call that did not return MPI_SUCCESS; what() names the call and gives MPI's own text.
class MpiError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace detail {

/// Throws MpiError unless status is MPI_SUCCESS.
void require_mpi_success(int status, const char* call);

}  // namespace detail
}  // namespace kadam

/// One line per call site, so that the message names the call.
#define KADAM_MPI(call) ::kadam::detail::require_mpi_success(call, #call)
