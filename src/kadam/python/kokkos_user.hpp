// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Kokkos in a program of Python's, which need not know of it.
namespace kadam::python {

/// Something that holds Views, and lets them go before Kokkos ends: what Python forgot to close, or keeps in
/// a module that outlives everything.
class KokkosUser {
 public:
  /// Initialises Kokkos if nobody has. Errors: std::runtime_error if it has ended already.
  KokkosUser();
  KokkosUser(const KokkosUser&) = delete;
  KokkosUser& operator=(const KokkosUser&) = delete;
  virtual ~KokkosUser();

  virtual void let_go() noexcept = 0;
};

/// Threads that kernels on the host have. Initialises Kokkos if nobody has. Errors: as KokkosUser.
[[nodiscard]] int host_threads();

/// For Python's atexit, which comes before MPI ends: all let go, in the order in which they were made, which
/// is the same on all ranks. Finalises Kokkos if it was initialised here.
void end_kokkos();

}  // namespace kadam::python
