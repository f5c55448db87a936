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

}  // namespace kadam
