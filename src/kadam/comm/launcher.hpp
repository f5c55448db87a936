// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace kadam {

/// Throws std::invalid_argument if this process, which is a single rank, was started as one of several: by
/// torchrun, by a launcher of another MPI, by srun without PMI. Each of them would train alone, and nobody
/// would notice.
///
/// Looks at what these leave in the environment: WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE, and in a task of
/// a Slurm step SLURM_NTASKS. alone: as in "MPI sees one rank in each"; remedy: what to do instead.
void refuse_to_be_alone(std::string_view alone, std::string_view remedy);

}  // namespace kadam
