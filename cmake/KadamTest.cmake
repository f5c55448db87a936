# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# kadam_add_test and kadam_add_mpi_test: one GoogleTest program each, labelled after its folder under tests/.
# `kadam_tests` builds them all, `kadam_tests_<folder>` those of one folder.
add_custom_target(kadam_tests)

# What a shell needs for mpirun, a test needs too: the same file says it.
file(STRINGS ${PROJECT_SOURCE_DIR}/scripts/mpi_environment.sh kadam_mpi_environment REGEX "^export ")
list(TRANSFORM kadam_mpi_environment REPLACE "^export " "")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/scripts/mpi_environment.sh)

# Where tests in Python find what they share. What the user's own path has may be needed as well, as under Spack.
set(kadam_test_python_path ${PROJECT_SOURCE_DIR}/tests/support)
if(NOT "$ENV{PYTHONPATH}" STREQUAL "")
  string(APPEND kadam_test_python_path :$ENV{PYTHONPATH})
endif()

# Kokkos warns of more threads than cores, which tests on small machines have on purpose: those that wait sleep.
# Only tests of pages start a Python for one after each training.
set(kadam_test_environment KADAM_PYTHON=none OMP_PROC_BIND=false OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1 KOKKOS_DISABLE_WARNINGS=1
  PYTHONPATH=${kadam_test_python_path})
if(KADAM_SANITIZERS)
  list(APPEND kadam_test_environment
    # Up to g++ 13 the sanitizer takes a thread's variables in shared libraries for a block of an old glibc when their
    # address happens to end in 16 of a page, reads a length before them that is not there, and dies as it looks for leaks.
    LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/scripts/lsan.supp:print_suppressions=0:intercept_tls_get_addr=0
    # Open MPI's hwloc reads the names of all PCI devices, which takes a sanitized program seconds and tells it nothing.
    HWLOC_COMPONENTS=-pci
    UBSAN_OPTIONS=print_stacktrace=1
    # MPI's own threads are not instrumented: what they do cannot be judged.
    TSAN_OPTIONS=ignore_noninstrumented_modules=1:halt_on_error=1)
endif()

# Builds a target with `kadam_tests` and with this folder's tests, whose label comes back in `kadam_test_label`.
function(kadam_test_needs target)
  cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME label)
  if(NOT TARGET kadam_tests_${label})
    add_custom_target(kadam_tests_${label})
  endif()
  add_dependencies(kadam_tests ${target})
  add_dependencies(kadam_tests_${label} ${target})
  set(kadam_test_label ${label} PARENT_SCOPE)
endfunction()

# The program, without its registration. Its label comes back in `kadam_test_label`.
function(kadam_add_test_program name main)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "SOURCES;LIBS")
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "The test ${name} has no SOURCES.")
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE ${arg_LIBS} ${main} kadam::kadam GTest::gtest kadam_compile_flags)
  kadam_kokkos_sources(${name})

  kadam_test_needs(${name})
  set(kadam_test_label ${kadam_test_label} PARENT_SCOPE)
endfunction()

# kadam_add_test(<name> SOURCES <file>... [LIBS <target>...] [TIMEOUT <seconds>] [ARGS <word>...])
#
# One process, two OpenMP threads: enough to show a race, and two tests may run beside each other.
function(kadam_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LIBS;ARGS")
  kadam_add_test_program(${name} kadam_test_main SOURCES ${arg_SOURCES} LIBS ${arg_LIBS})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} LABELS "${kadam_test_label};serial" PROCESSORS 2
    ENVIRONMENT "OMP_NUM_THREADS=2;${kadam_test_environment}")
endfunction()

# kadam_test_in_memory(<test>...): what writes many small files gets a file system in memory, where there is one.
function(kadam_test_in_memory)
  if(EXISTS /dev/shm)
    set_property(TEST ${ARGV} APPEND PROPERTY ENVIRONMENT TMPDIR=/dev/shm)
  endif()
endfunction()

# kadam_mpi_test_properties(<test> RANKS <count> LABEL <label> [TIMEOUT <seconds>])
#
# What every test that starts ranks needs: the environment of scripts/mpi_environment.sh, one thread per rank, and a
# folder for Open MPI's sessions. In a common one a job that ends removes what another one is about to make.
function(kadam_mpi_test_properties test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "RANKS;LABEL;TIMEOUT" "")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  set_tests_properties(${test} PROPERTIES
    TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABEL};mpi" PROCESSORS ${arg_RANKS}
    ENVIRONMENT
      "KADAM_TEST_RANKS=${arg_RANKS};OMP_NUM_THREADS=1;OMPI_MCA_orte_tmpdir_base=${PROJECT_BINARY_DIR}/Testing/sessions/${test};${kadam_mpi_environment};${kadam_test_environment}")
endfunction()

# kadam_add_mpi_test(<name> SOURCES <file>... [LIBS <target>...] [RANKS <count>...] [TIMEOUT <seconds>] [ARGS <word>...])
#
# Registers <name>_np<count> for every count (1 2 3 4 unless told), one thread per rank. Does nothing without MPI.
function(kadam_add_mpi_test name)
  if(NOT KADAM_ENABLE_MPI)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;LIBS;RANKS;ARGS")
  kadam_add_test_program(${name} kadam_mpi_test_main SOURCES ${arg_SOURCES} LIBS ${arg_LIBS} MPI::MPI_CXX)
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(NOT arg_RANKS)
    set(arg_RANKS 1 2 3 4)
  endif()
  foreach(ranks IN LISTS arg_RANKS)
    add_test(NAME ${name}_np${ranks}
      COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS}
        $<TARGET_FILE:${name}> ${MPIEXEC_POSTFLAGS} ${arg_ARGS})
    kadam_mpi_test_properties(${name}_np${ranks} RANKS ${ranks} LABEL ${kadam_test_label} TIMEOUT ${arg_TIMEOUT})
  endforeach()
endfunction()

# kadam_add_program_test(<name> SCRIPT <file.py> PROGRAM <target> RANKS <count> [TIMEOUT <seconds>] [ARGS <word>...])
#
# A Python script that runs an installed program under mpirun: it gets the ARGS, the program's path, and mpirun -n. Does
# nothing without MPI. Counts as half its ranks: most of its time goes by in starts of MPI, which wait.
function(kadam_add_program_test name)
  if(NOT KADAM_ENABLE_MPI)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SCRIPT;PROGRAM;RANKS;TIMEOUT" "ARGS")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  kadam_test_needs(${arg_PROGRAM})
  add_test(NAME ${name}
    COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGS} $<TARGET_FILE:${arg_PROGRAM}>
      ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG})
  kadam_mpi_test_properties(${name} RANKS ${arg_RANKS} LABEL ${kadam_test_label} TIMEOUT ${arg_TIMEOUT})
  math(EXPR cores "(${arg_RANKS} + 1) / 2")
  set_tests_properties(${name} PROPERTIES PROCESSORS ${cores})
endfunction()
