// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>

namespace kadam::detail {

/// Copies bytes between memory spaces; enqueued on exec.
template <class To, class From>
void copy_bytes(const ExecutionSpace& exec, std::byte* to, const std::byte* from, std::size_t bytes) {
  using Target = Kokkos::View<std::byte*, To, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  using Source = Kokkos::View<const std::byte*, From, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  Kokkos::deep_copy(exec, Target(to, bytes), Source(from, bytes));
}

}  // namespace kadam::detail
