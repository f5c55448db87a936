// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/config.hpp>
#include <kadam/execution.hpp>
#include <kadam/version.hpp>
#include <launch/build_info.hpp>

#include <fmt/format.h>

#ifdef KADAM_ENABLE_MPI
#include <mpi.h>
#endif

namespace kadam::launch {
namespace {

/// Clang's own text begins with its name.
constexpr const char* compiler =
#if defined(__GNUC__) && !defined(__clang__)
    "g++ " __VERSION__;
#else
    __VERSION__;
#endif

std::string mpi_version() {
#ifdef KADAM_ENABLE_MPI
  std::string text(MPI_MAX_LIBRARY_VERSION_STRING, '\0');
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  // Some libraries say a whole page; the first words name them.
  return text.substr(0, std::min(text.find_first_of(",\n"), static_cast<std::size_t>(length)));
#else
  return "none (one rank)";
#endif
}

}  // namespace

std::string build_info(const std::string& program) {
  return fmt::format("{} {}\nKokkos {}.{}.{}, {}\nMPI: {}\ncompiled by {}", program, KADAM_VERSION_STRING,
                     KOKKOS_VERSION / 10000, KOKKOS_VERSION / 100 % 100, KOKKOS_VERSION % 100,
                     ExecutionSpace::name(), mpi_version(), compiler);
}

}  // namespace kadam::launch
