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

/// A flat vector in the memory of kernels. Unmanaged Views of the caller convert to it.
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

namespace detail {

/// Asks the system for pages of 2 MiB in place of 4 KiB in the memory [begin, begin + bytes) of a host, which
/// nobody has written to. Only a hint: does nothing for less than 4 MiB, or where the system has no such
/// pages.
void prefer_huge_pages(void* begin, std::size_t bytes);

}  // namespace detail

/// Allocates a vector without initialising it. The first writer has to be a kernel on `exec`. A long vector
/// of a host gets huge pages where the system has them: most kernels then take a tenth to a sixth less time.
template <class T>
[[nodiscard]] Vector<T> allocate(const ExecutionSpace& exec, const std::string& label,
                                 std::int64_t elements) {
  const Vector<T> vector(Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, label),
                         static_cast<std::size_t>(elements));
  if constexpr (kernels_run_on_host) detail::prefer_huge_pages(vector.data(), vector.size() * sizeof(T));
  return vector;
}

/// allocate(), then `exec` fills the vector with zeros.
template <class T>
[[nodiscard]] Vector<T> allocate_zeros(const ExecutionSpace& exec, const std::string& label,
                                       std::int64_t elements) {
  const Vector<T> vector = allocate<T>(exec, label, elements);
  Kokkos::deep_copy(exec, vector, T{});
  return vector;
}

}  // namespace kadam
