// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/launcher.hpp>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace kadam {
namespace {

/// Inside an sbatch script SLURM_NTASKS is set, but only a task of a step has SLURM_STEP_ID and SLURM_PROCID.
/// The daemon of mpirun on another node has them too, and its ranks inherit them; these have
/// OMPI_COMM_WORLD_SIZE as well.
bool is_task_of_slurm() {
  return std::getenv("SLURM_PROCID") != nullptr && std::getenv("SLURM_STEP_ID") != nullptr &&
         std::getenv("OMPI_COMM_WORLD_SIZE") == nullptr;
}

}  // namespace

void refuse_to_be_alone(std::string_view alone, std::string_view remedy) {
  for (const char* name : {"SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "WORLD_SIZE"}) {
    if (std::string_view(name) == "SLURM_NTASKS" && !is_task_of_slurm()) continue;
    const char* const value = std::getenv(name);
    if (value == nullptr || std::atoi(value) <= 1) continue;
    std::string text = std::string("the launcher started ") + value + " tasks (" + name + "), but ";
    throw std::invalid_argument(text.append(alone).append(": ").append(remedy));
  }
}

}  // namespace kadam
