# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Kokkos' headers take two seconds in every file, a sixth of the time of a build from nothing. A compiler cache saves more
# in the next one, and does not go together with them.

# kadam_precompile_headers(<target>): once for the library, whose code can lie anywhere in memory, and once for all others.
function(kadam_precompile_headers target)
  if(NOT KADAM_ENABLE_PRECOMPILED_HEADERS OR CMAKE_CXX_COMPILER_LAUNCHER)
    return()
  endif()
  get_target_property(is_position_independent ${target} POSITION_INDEPENDENT_CODE)
  if(is_position_independent)
    target_precompile_headers(${target} PRIVATE <Kokkos_Core.hpp>)
    return()
  endif()
  if(NOT TARGET kadam_precompiled)
    file(CONFIGURE OUTPUT precompiled.cpp CONTENT "")
    add_library(kadam_precompiled OBJECT ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cpp)
    target_link_libraries(kadam_precompiled PRIVATE Kokkos::kokkos kadam_compile_flags)
    target_precompile_headers(kadam_precompiled PRIVATE <Kokkos_Core.hpp>)
  endif()
  target_precompile_headers(${target} REUSE_FROM kadam_precompiled)
endfunction()
