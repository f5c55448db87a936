// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <string>
#include <vector>

namespace kadam::test {

/// A device copy of a host vector.
template <class MemorySpace = Kokkos::DefaultExecutionSpace::memory_space, class T>
Kokkos::View<T*, MemorySpace> to_device(const std::vector<T>& values) {
  Kokkos::View<T*, MemorySpace> view("kadam::test", values.size());
  Kokkos::deep_copy(view, Kokkos::View<const T*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(
                              values.data(), values.size()));
  return view;
}

/// A host copy of a device View.
template <class View>
std::vector<typename View::non_const_value_type> to_host(const View& view) {
  std::vector<typename View::non_const_value_type> values(view.extent(0));
  Kokkos::deep_copy(Kokkos::View<typename View::non_const_value_type*, Kokkos::HostSpace,
                                 Kokkos::MemoryTraits<Kokkos::Unmanaged>>(values.data(), values.size()),
                    view);
  return values;
}

}  // namespace kadam::test
