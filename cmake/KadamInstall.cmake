# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# find_package(Kadam) for other projects: kadam::kadam and kadam::kernels.
include(CMakePackageConfigHelpers)

set_target_properties(kadam_kernels PROPERTIES EXPORT_NAME kernels)

install(TARGETS kadam kadam_kernels EXPORT KadamTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# The file formats of kadam::io belong to the programs.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/kernels/kadam ${PROJECT_SOURCE_DIR}/src/kadam
  ${KADAM_GENERATED_INCLUDE_DIR}/kadam
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h" PATTERN "io" EXCLUDE)

set(KADAM_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/Kadam)
install(EXPORT KadamTargets NAMESPACE kadam:: DESTINATION ${KADAM_INSTALL_CMAKEDIR})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/KadamConfig.cmake.in
  ${PROJECT_BINARY_DIR}/KadamConfig.cmake INSTALL_DESTINATION ${KADAM_INSTALL_CMAKEDIR})
# SemVer below 1.0: a minor version may break.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/KadamConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/KadamConfig.cmake ${PROJECT_BINARY_DIR}/KadamConfigVersion.cmake
  DESTINATION ${KADAM_INSTALL_CMAKEDIR})
if(KADAM_ENABLE_NCCL)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/FindNCCL.cmake DESTINATION ${KADAM_INSTALL_CMAKEDIR})
endif()
