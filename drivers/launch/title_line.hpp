// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <string>

namespace kadam::launch {

/// "Kadam 1.0.0: MPI, 4 ranks, 2 threads of OpenMP each": the first line that a program prints.
[[nodiscard]] std::string title_line(const Communicator& program);

/// "2 threads of OpenMP each": what a rank computes with.
[[nodiscard]] std::string threads_text();

}  // namespace kadam::launch
