# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# cpack -G DEB, in a build folder: a package of what is installed, for Debian and its kin. scripts/release.sh makes one
# with KADAM_ENABLE_KOKKOS_INSTALL: Debian has no Kokkos that Kadam compiles with.
set(CPACK_PACKAGE_NAME kadam)
set(CPACK_PACKAGE_VENDOR "The Kadam authors")
set(CPACK_PACKAGE_CONTACT "The Kadam authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
string(CONCAT CPACK_PACKAGE_DESCRIPTION
  "Optimizers that exchange 16 to 1000 times fewer bytes than distributed Adam,\n"
  "for training that waits for the network: the library for C, C++ and Fortran,\n"
  "and the programs kadam-train, kadam-replay, kadam-plan, kadam-bench,\n"
  "kadam-doctor, kadam-report and kadam-insitu.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
# Shared libraries by what the programs are linked with; the rest is for those who compile, and for kadam-report.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "openmpi-bin, python3-matplotlib, python3-jinja2")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake, g++, gfortran, libopenmpi-dev, libopenblas-dev")
set(CPACK_GENERATOR DEB)
include(CPack)
