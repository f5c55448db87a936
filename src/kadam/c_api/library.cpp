// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Functions of kadam.h that need no optimizer.
#include <kadam/c_api/guarded.hpp>
#include <kadam/execution.hpp>
#include <kadam/version.hpp>

using kadam::c_api::Failure;
using kadam::c_api::guarded;

const char* kadam_version(void) {
  return KADAM_VERSION_STRING;
}

const char* kadam_execution_space(void) {
  return kadam::ExecutionSpace::name();
}

kadam_status kadam_kokkos_initialize(int threads, kadam_error* error) {
  return guarded(__func__, error, [&] {
    if (Kokkos::is_initialized() || Kokkos::is_finalized())
      throw Failure(
          KADAM_NOT_READY,
          "Kokkos was initialised already, and a program can initialise it only once: leave out this call");
    if (threads < 0) {
      throw std::invalid_argument("kadam_kokkos_initialize: expected 0 or more threads, got " +
                                  std::to_string(threads));
    }
    Kokkos::InitializationSettings settings;
    if (threads > 0) settings.set_num_threads(threads);
    settings.set_disable_warnings(true);  // printed by Kokkos, to nobody who asked
    Kokkos::initialize(settings);
  });
}

kadam_status kadam_kokkos_finalize(kadam_error* error) {
  return guarded(__func__, error, [&] {
    if (!Kokkos::is_initialized())
      throw Failure(KADAM_NOT_READY, "Kokkos is not initialised, so there is nothing to finalise");
    Kokkos::finalize();
  });
}
