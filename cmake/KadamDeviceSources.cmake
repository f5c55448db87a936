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
  list(TRANSFORM sources REPLACE "^([^/])" "${folder}/\\1")
  get_target_property(unites ${target} UNITY_BUILD)
  if(unites AND NOT arg_EXCEPT AND CMAKE_VERSION VERSION_LESS 3.31)
    kadam_unite_sources(${target} sources)
  endif()
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target}
    PROPERTIES LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
endfunction()

# What CMake does for C++ alone before 3.31: replaces the files that the list <sources> names, in <target> and in the
# list, by files that include some of them each.
function(kadam_unite_sources target sources)
  get_target_property(batch ${target} UNITY_BUILD_BATCH_SIZE)
  get_target_property(folder ${target} BINARY_DIR)
  set(rest ${${sources}})
  set(united)
  while(rest)
    list(SUBLIST rest 0 ${batch} files)
    list(REMOVE_ITEM rest ${files})
    list(LENGTH united number)
    list(TRANSFORM files REPLACE "(.+)" "#include \"\\1\"\n")
    string(CONCAT text ${files})
    file(CONFIGURE OUTPUT ${folder}/Unity/${target}_${number}.cpp CONTENT "${text}" @ONLY)
    list(APPEND united ${folder}/Unity/${target}_${number}.cpp)
  endwhile()
  set_target_properties(${target} PROPERTIES SOURCES "${united}")
  set(${sources} ${united} PARENT_SCOPE)
endfunction()
