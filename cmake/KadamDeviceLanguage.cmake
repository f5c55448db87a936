# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Kokkos says in which language its headers must be compiled: CXX, or CUDA/HIP when it was built with
# Kokkos_ENABLE_COMPILE_AS_CMAKE_LANGUAGE. The architecture is Kokkos' as well: two would not link.
if(NOT Kokkos_COMPILE_LANGUAGE)
  set(Kokkos_COMPILE_LANGUAGE CXX)
endif()
if(NOT Kokkos_COMPILE_LANGUAGE STREQUAL "CXX")
  if(NOT CMAKE_${Kokkos_COMPILE_LANGUAGE}_ARCHITECTURES AND Kokkos_${Kokkos_COMPILE_LANGUAGE}_ARCHITECTURES)
    set(CMAKE_${Kokkos_COMPILE_LANGUAGE}_ARCHITECTURES ${Kokkos_${Kokkos_COMPILE_LANGUAGE}_ARCHITECTURES})
  endif()
  enable_language(${Kokkos_COMPILE_LANGUAGE})
endif()
