# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# nanobind for the interpreter that is meant: Python_EXECUTABLE, or the one that runs the tests.
if(Python3_EXECUTABLE AND NOT Python_EXECUTABLE)
  set(Python_EXECUTABLE ${Python3_EXECUTABLE})
endif()
find_package(Python 3.10 QUIET COMPONENTS Interpreter Development.Module)
if(NOT Python_FOUND)
  message(FATAL_ERROR "KADAM_ENABLE_PYTHON needs Python 3.10 or later and its headers (Debian: python3-dev): "
    "-DPython_EXECUTABLE=... says which. ${Python_NOT_FOUND_MESSAGE}")
endif()
if(NOT nanobind_DIR)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_VARIABLE nanobind_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
# Its version file takes none but the same major version.
find_package(nanobind QUIET CONFIG)
if(NOT nanobind_FOUND OR nanobind_VERSION VERSION_LESS 2.4)
  message(FATAL_ERROR "KADAM_ENABLE_PYTHON needs nanobind 2.4 or later: ${Python_EXECUTABLE} -m pip install nanobind, "
    "or -Dnanobind_DIR=..., or another Python with -DPython_EXECUTABLE=...")
endif()

# Where Python itself would put it, under CMake's prefix: lib/python3.11/site-packages.
execute_process(
  COMMAND ${Python_EXECUTABLE} -c "import sysconfig
print(sysconfig.get_path('platlib', 'posix_prefix', {'platbase': '', 'base': ''}).lstrip('/'))"
  OUTPUT_VARIABLE kadam_site_packages OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
set(KADAM_PYTHON_INSTALL_DIR ${kadam_site_packages} CACHE STRING "Where the Python module goes, under the prefix")
