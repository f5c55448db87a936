# shellcheck shell=sh
# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# For `mpirun` on one machine with more ranks than cores, as root or not; source it. Open MPI 4 reads OMPI_*,
# Open MPI 5 OMPI_* and PRTE_*, MPICH none. CMake reads the export lines for the tests: plain NAME=value only.
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# Ranks that wait must give up the core, or an exchange takes a scheduler's time slice.
export OMPI_MCA_mpi_yield_when_idle=1
# Two jobs side by side would both be bound to the first core.
export OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_hwloc_default_binding_policy=none
# Transports that are looked for and not found are no news.
export OMPI_MCA_btl_base_warn_component_unused=0
