// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <string>
#include <vector>

namespace kadam {

/// Copies a list of the host to a new View that kernels reach: a table of segments, tensors or tiles. Waits
/// for the copy.
template <class MemorySpace, class T>
[[nodiscard]] Kokkos::View<T*, MemorySpace> on_device(const std::string& label, const std::vector<T>& list) {
  const Kokkos::View<T*, MemorySpace> view(label, list.size());
  Kokkos::deep_copy(view, Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                              list.data(), list.size()));
  return view;
}

}  // namespace kadam
