// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// Starts and ends Kokkos for a Python program, which need not know of Kokkos.
namespace kadam::python {

/// The base of objects that hold Views, and must free them before Kokkos ends: let_go() does so even for
/// objects that Python never closed, or keeps in a module until the end. Python's lock must be held where
/// they come and go.
class KokkosUser {
 public:
  /// Initialises Kokkos if nobody has. Errors: std::runtime_error if it has ended already.
  KokkosUser();
  KokkosUser(const KokkosUser&) = delete;
  KokkosUser& operator=(const KokkosUser&) = delete;
  virtual ~KokkosUser();

  /// Frees all Views; the object can still be destroyed, but not used.
  virtual void let_go() noexcept = 0;
};

/// The number of threads that kernels on the host have. Initialises Kokkos if nobody has. Errors: as
/// KokkosUser().
[[nodiscard]] int host_threads();

/// Calls let_go() of all users, in the order in which they were made, which is the same on all ranks, and
/// finalises Kokkos if it was initialised here. For Python's atexit, which comes before MPI ends.
void end_kokkos();

}  // namespace kadam::python
