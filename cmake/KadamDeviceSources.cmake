# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# kadam_device_sources(<target>)
#
# Compiles the C++ sources of <target> in the language that Kokkos was built for (CUDA, HIP), and does nothing
# where that is C++. Call it after the last target_sources() of the target, in the directory that made it.
function(kadam_device_sources target)
  if(Kokkos_COMPILE_LANGUAGE STREQUAL "CXX")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.(cpp|cxx|cc)$")
  set_source_files_properties(${sources} PROPERTIES LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
endfunction()
