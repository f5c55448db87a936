# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The library needs Kokkos and, if enabled, MPI. All else belongs to the programs and the tests.
include(KadamKokkos)
find_package(Kokkos ${KADAM_KOKKOS_VERSIONS} REQUIRED)
include(KadamDeviceLanguage)

if(KADAM_ENABLE_MPI)
  find_package(MPI REQUIRED COMPONENTS CXX)
  # The C++ bindings of MPI 2 are gone from the standard; their headers only add warnings and a library.
  target_compile_definitions(MPI::MPI_CXX INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
endif()
if(KADAM_ENABLE_NCCL)
  if(NOT KADAM_ENABLE_MPI OR NOT Kokkos_ENABLE_CUDA)
    message(FATAL_ERROR "KADAM_ENABLE_NCCL needs KADAM_ENABLE_MPI and a Kokkos that was built for CUDA.")
  endif()
  find_package(NCCL REQUIRED)
endif()
if(KADAM_ENABLE_DRIVERS)
  find_package(KokkosKernels REQUIRED)
  find_package(CLI11 REQUIRED)
  find_package(tomlplusplus REQUIRED)
  find_package(ZLIB REQUIRED)
endif()
if(KADAM_ENABLE_DRIVERS OR KADAM_ENABLE_TESTS)
  find_package(fmt REQUIRED)
  # fmt 9 mistrusts every nvcc with constexpr, and then calls functions without it from constant expressions.
  target_compile_definitions(fmt::fmt INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>)
  find_package(nlohmann_json REQUIRED)
endif()
if(KADAM_ENABLE_TESTS)
  find_package(GTest REQUIRED)
  find_package(Python3 COMPONENTS Interpreter)
endif()
