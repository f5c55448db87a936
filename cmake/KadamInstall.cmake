# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# find_package(Kadam) for other projects: kadam::kadam, kadam::kernels and, if built, kadam::fortran; pkg-config kadam;
# the programs but kadam-report, which tools/report installs; the Python module.
include(CMakePackageConfigHelpers)

set_target_properties(kadam_kernels PROPERTIES EXPORT_NAME kernels)

install(TARGETS kadam kadam_kernels EXPORT KadamTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# What C and Python are made of is nobody's business; npy and JSON lines belong to the programs.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels/kadam ${PROJECT_SOURCE_DIR}/src/kadam
  ${KADAM_GENERATED_INCLUDE_DIR}/kadam
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "c_api" EXCLUDE PATTERN "caller" EXCLUDE PATTERN "fortran" EXCLUDE
  PATTERN "python" EXCLUDE PATTERN "npy.hpp" EXCLUDE PATTERN "json_lines.hpp" EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/src/kadam/c_api/kadam.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(KADAM_ENABLE_FORTRAN)
  install(TARGETS kadam_fortran EXPORT KadamTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  get_target_property(kadam_modules kadam_fortran Fortran_MODULE_DIRECTORY)
  install(DIRECTORY ${kadam_modules}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  # Modules are of one compiler: who has another compiles them anew.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/kadam/fortran/ DESTINATION ${CMAKE_INSTALL_DATADIR}/kadam/fortran
    FILES_MATCHING PATTERN "*.f90")
endif()
if(KADAM_ENABLE_PYTHON)
  # A component of its own: what pip installs.
  install(TARGETS kadam_python LIBRARY DESTINATION ${KADAM_PYTHON_INSTALL_DIR}/kadam COMPONENT python)
  install(FILES ${PROJECT_BINARY_DIR}/python/kadam/_kadam.pyi DESTINATION ${KADAM_PYTHON_INSTALL_DIR}/kadam
    COMPONENT python)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/kadam/python/kadam/ DESTINATION ${KADAM_PYTHON_INSTALL_DIR}/kadam
    COMPONENT python FILES_MATCHING PATTERN "*.py" PATTERN "py.typed")
endif()
if(KADAM_ENABLE_DRIVERS)
  install(TARGETS kadam-train kadam-replay kadam-plan kadam-bench kadam-doctor RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET kadam-insitu)
  install(TARGETS kadam-insitu RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

# Where Kokkos Kernels was found. In a home folder: in that of who uses the package, which names none.
set(kadam_kokkos_kernels "${KokkosKernels_DIR}")
string(LENGTH "$ENV{HOME}/" kadam_home_length)
string(FIND "${KokkosKernels_DIR}" "$ENV{HOME}/" kadam_home_place)
if(kadam_home_length GREATER 2 AND kadam_home_place EQUAL 0)
  string(SUBSTRING "${KokkosKernels_DIR}" ${kadam_home_length} -1 kadam_kokkos_kernels)
  string(PREPEND kadam_kokkos_kernels "\$ENV{HOME}/")
endif()

# A package that brings its Kokkos: both in one folder, and what they say of where they were built is gone.
set(KADAM_KOKKOS_INSTALLDIR ${CMAKE_INSTALL_LIBDIR}/kadam/kokkos)
if(KADAM_ENABLE_KOKKOS_INSTALL)
  set(kadam_kokkos_folders)
  foreach(package IN ITEMS KokkosKernels Kokkos)
    if(${package}_FOUND)
      cmake_path(SET folder NORMALIZE "${${package}_DIR}/../../..")
      string(REGEX REPLACE "/$" "" folder "${folder}")
      if(EXISTS ${folder}/lib/cmake/${package} AND NOT folder MATCHES "^(/usr|/usr/local)$")
        install(DIRECTORY ${folder}/include ${folder}/lib DESTINATION ${KADAM_KOKKOS_INSTALLDIR})
        list(APPEND kadam_kokkos_folders "${folder}")
      else()
        message(FATAL_ERROR "KADAM_ENABLE_KOKKOS_INSTALL installs the whole folder of ${package} as well, and needs one "
          "that holds nothing else, with lib/cmake/${package} in it: ${folder} is not of that kind.")
      endif()
    endif()
  endforeach()
  install(CODE "
    set(folders \"${kadam_kokkos_folders}\")
    file(GLOB_RECURSE files \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${KADAM_KOKKOS_INSTALLDIR}/lib/cmake/*.cmake\")
    foreach(file IN LISTS files)
      file(READ \"\${file}\" text)
      foreach(folder IN LISTS folders)
        string(REPLACE \"\${folder}\" \"\\\${CMAKE_CURRENT_LIST_DIR}/../../..\" text \"\${text}\")
      endforeach()
      file(WRITE \"\${file}\" \"\${text}\")
    endforeach()")
endif()

set(KADAM_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/Kadam)
install(EXPORT KadamTargets NAMESPACE kadam:: DESTINATION ${KADAM_INSTALL_CMAKEDIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/KadamConfig.cmake.in
  ${PROJECT_BINARY_DIR}/KadamConfig.cmake INSTALL_DESTINATION ${KADAM_INSTALL_CMAKEDIR})
# SemVer below 1.0: a minor version may break.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/KadamConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/KadamConfig.cmake ${PROJECT_BINARY_DIR}/KadamConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/KadamDeviceLanguage.cmake ${PROJECT_SOURCE_DIR}/cmake/KadamKokkosSources.cmake
  DESTINATION ${KADAM_INSTALL_CMAKEDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/kadam)
include(KadamPkgConfig)
if(KADAM_ENABLE_NCCL)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake DESTINATION ${KADAM_INSTALL_CMAKEDIR})
endif()
