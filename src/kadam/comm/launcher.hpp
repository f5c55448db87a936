// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string_view>

namespace kadam {

/// Throws std::invalid_argument if this process, which is a single rank, was started as one of several: by
/// torchrun, by the launcher of another MPI, or by srun without PMI. Otherwise each process would train
/// alone, and nobody would notice.
///
/// It reads environment variables that these launchers set: WORLD_SIZE, OMPI_COMM_WORLD_SIZE, PMI_SIZE, and
/// in a task of a Slurm step SLURM_NTASKS. The message is "the launcher started N tasks (VARIABLE), but
/// ALONE: REMEDY". alone: such as "MPI sees one rank in each"; remedy: what to do instead.
void refuse_to_be_alone(std::string_view alone, std::string_view remedy);

}  // namespace kadam
