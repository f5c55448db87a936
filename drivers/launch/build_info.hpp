// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace kadam::launch {

/// What --version prints: the version, the compiler, Kokkos and its spaces, MPI.
[[nodiscard]] std::string build_info(const std::string& program);

}  // namespace kadam::launch
