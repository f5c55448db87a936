# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
if(NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()
list(JOIN Kokkos_DEVICES "+" kadam_devices)
set(kadam_mpi "off")
if(KADAM_ENABLE_MPI)
  set(kadam_mpi "${MPI_CXX_VERSION} (${MPI_CXX_COMPILER})")
endif()
set(kadam_sanitizers "none")
if(KADAM_SANITIZERS)
  set(kadam_sanitizers ${KADAM_SANITIZERS})
endif()
message(STATUS "Kadam ${Kadam_VERSION}")
message(STATUS "  compiler    ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}, "
  "native arch ${KADAM_ENABLE_NATIVE_ARCH}, sanitizers ${kadam_sanitizers}")
message(STATUS "  Kokkos      ${Kokkos_VERSION} ${kadam_devices}, compiled as ${Kokkos_COMPILE_LANGUAGE} (${Kokkos_DIR})")
message(STATUS "  MPI         ${kadam_mpi}, NCCL ${KADAM_ENABLE_NCCL}")
message(STATUS "  checkpoints ${KADAM_ENABLE_CHECKPOINT}, Fortran ${KADAM_ENABLE_FORTRAN}, Python ${KADAM_ENABLE_PYTHON}, programs ${KADAM_ENABLE_DRIVERS}, "
  "tests ${KADAM_ENABLE_TESTS}")
