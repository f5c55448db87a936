// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace kadam::launch {

/// Whether a person watches what is written to this descriptor (STDOUT_FILENO, STDERR_FILENO). Open MPI gives
/// each rank a pipe or a terminal of its own and passes on what is written there: only its parent, mpirun,
/// knows where it ends.
[[nodiscard]] bool is_terminal(int descriptor);

}  // namespace kadam::launch
