# SPDX-FileCopyrightText: The Kadam authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# <kadam/version.hpp> from project(VERSION) and <kadam/config.hpp> from the options.
set(KADAM_GENERATED_INCLUDE_DIR ${PROJECT_BINARY_DIR}/include)
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.hpp.in ${KADAM_GENERATED_INCLUDE_DIR}/kadam/version.hpp @ONLY)
configure_file(${PROJECT_SOURCE_DIR}/cmake/config.hpp.in ${KADAM_GENERATED_INCLUDE_DIR}/kadam/config.hpp)
