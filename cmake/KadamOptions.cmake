# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include(GNUInstallDirs)

option(KADAM_ENABLE_MPI "Build the MPI transport (off: one rank only)" ON)
option(KADAM_ENABLE_NCCL "Use NCCL inside a node (CUDA and MPI only)" OFF)
option(KADAM_ENABLE_KOKKOS_KERNELS "Leave matrix products to Kokkos Kernels; programs have it anyway" OFF)
option(KADAM_ENABLE_CHECKPOINT "Save and restore (needs the headers of nlohmann_json, to build)" ON)
option(KADAM_ENABLE_FORTRAN "Build the Fortran module (needs MPI's mpi_f08)" OFF)
option(KADAM_ENABLE_PYTHON "Build the Python module (needs nanobind)" OFF)
option(KADAM_ENABLE_DRIVERS "Build the programs (kadam-train, kadam-replay, ...)" ${PROJECT_IS_TOP_LEVEL})
option(KADAM_ENABLE_WORKLOADS "Build models and readers of data; the programs bring them" OFF)
option(KADAM_ENABLE_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(KADAM_ENABLE_INSTALL "Make rules that install" ${PROJECT_IS_TOP_LEVEL})
option(KADAM_ENABLE_KOKKOS_INSTALL "Install the Kokkos that Kadam is built with as well (for packages)" OFF)
option(KADAM_ENABLE_NATIVE_ARCH "Compile for this machine's processor (never for packages)" OFF)
option(KADAM_ENABLE_PRECOMPILED_HEADERS "Precompile Kokkos' headers (not with a compiler launcher)" OFF)
option(KADAM_ENABLE_WARNINGS_AS_ERRORS "Treat compiler warnings as errors" OFF)
option(KADAM_ENABLE_HOST_TEAMS "Let teams of OpenMP's threads take a GPU's way through blocks (slow; for tests)" OFF)
set(KADAM_SANITIZERS "" CACHE STRING "What to build with, as -fsanitize= has it: address,undefined or thread")

if(KADAM_ENABLE_DRIVERS)
  set(KADAM_ENABLE_KOKKOS_KERNELS ON)
  set(KADAM_ENABLE_WORKLOADS ON)  # kadam-train trains them
endif()
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Installed programs find a shared library beside them, and those that they were linked with.
file(RELATIVE_PATH kadam_libraries "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
set(CMAKE_INSTALL_RPATH "$ORIGIN/${kadam_libraries}")
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
