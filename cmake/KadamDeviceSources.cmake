# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# kadam_device_sources(<target> [EXCEPT <source>...])
#
# Compiles the C++ sources of <target> in the language that Kokkos was built for (CUDA, HIP), and does nothing
# where that is C++. Call it after the last target_sources() of the target, from any directory.
function(kadam_device_sources target)
  if(Kokkos_COMPILE_LANGUAGE STREQUAL "CXX")
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCEPT")
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.(cpp|cxx|cc)$")
  if(arg_EXCEPT)
    list(REMOVE_ITEM sources ${arg_EXCEPT})
  endif()
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
    set_source_files_properties(${source} TARGET_DIRECTORY ${target}
      PROPERTIES LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
  endforeach()
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
endfunction()
