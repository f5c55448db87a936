// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

/// The execution space that the library is compiled for, and the Views its interfaces take.
///
/// Kernels (kadam/kernels/) are templates over every execution space; the library on top of them is compiled
/// once, for the space that Kokkos was configured to run by default.
namespace kadam {

using ExecutionSpace = Kokkos::DefaultExecutionSpace;
using MemorySpace = ExecutionSpace::memory_space;

/// A flat device vector. Unmanaged Views of the caller convert to it.
template <class T>
using Vector = Kokkos::View<T*, MemorySpace>;

/// A flat vector that the host can read and write.
template <class T>
using HostVector = Kokkos::View<T*, Kokkos::HostSpace>;

/// Whether kernels run on the host's processors, and so reach its memory.
inline constexpr bool kernels_run_on_host =
    Kokkos::SpaceAccessibility<ExecutionSpace, Kokkos::HostSpace>::accessible;

/// Whether the host reads and writes Vectors in place: there is no device, or its memory is the host's.
inline constexpr bool host_reaches_vectors =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;

/// Allocates a vector without initialising it. The first writer has to be a kernel on `exec`.
template <class T>
[[nodiscard]] Vector<T> allocate(const ExecutionSpace& exec, const std::string& label,
                                 std::int64_t elements) {
  return Vector<T>(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label),
                   static_cast<std::size_t>(elements));
}

/// Allocates a vector, which `exec` fills with zeros.
template <class T>
[[nodiscard]] Vector<T> allocate_zeros(const ExecutionSpace& exec, const std::string& label,
                                       std::int64_t elements) {
  return Vector<T>(Kokkos::view_alloc(exec, label), static_cast<std::size_t>(elements));
}

}  // namespace kadam
