# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# kadam_kokkos_sources(<target> [EXCEPT <source>...])
#
# Compiles the C++ sources of <target> in the language that Kokkos was built for; where that is C++, with Kokkos' headers
# precompiled if that is wanted. Call it after the last target_sources() of the target, from any directory.
function(kadam_kokkos_sources target)
  if(Kokkos_COMPILE_LANGUAGE STREQUAL "CXX")
    kadam_precompile_headers(${target})
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "EXCEPT")
  get_target_property(folder ${target} SOURCE_DIR)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.(cpp|cxx|cc)$")
  if(arg_EXCEPT)
    list(REMOVE_ITEM sources ${arg_EXCEPT})
  endif()
  set(files)
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${folder})
    list(APPEND files ${source})
  endforeach()
  get_target_property(unites ${target} UNITY_BUILD)
  if(unites AND NOT arg_EXCEPT AND CMAKE_VERSION VERSION_LESS 3.31)
    kadam_unite_files(${target} files)
  endif()
  set_source_files_properties(${files} TARGET_DIRECTORY ${target}
    PROPERTIES LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE ${Kokkos_COMPILE_LANGUAGE})
endfunction()

# What CMake does for C++ alone before 3.31: replaces the files of a list, there and in <target>, by files that include
# some of them each.
function(kadam_unite_files target list_name)
  get_target_property(batch ${target} UNITY_BUILD_BATCH_SIZE)
  get_target_property(folder ${target} BINARY_DIR)
  set(rest ${${list_name}})
  set(united)
  while(rest)
    list(SUBLIST rest 0 ${batch} some)
    list(REMOVE_ITEM rest ${some})
    list(LENGTH united number)
    list(TRANSFORM some PREPEND "#include \"")
    list(TRANSFORM some APPEND "\"\n")
    string(CONCAT text ${some})
    file(CONFIGURE OUTPUT ${folder}/Unity/${target}_${number}.cpp CONTENT "${text}" @ONLY)
    list(APPEND united ${folder}/Unity/${target}_${number}.cpp)
  endwhile()
  set_target_properties(${target} PROPERTIES SOURCES "${united}")
  set(${list_name} ${united} PARENT_SCOPE)
endfunction()
