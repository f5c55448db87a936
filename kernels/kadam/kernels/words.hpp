// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// Messages as kernels write them and read them: in 32-bit words.
template <class MemorySpace>
using Words = Kokkos::View<std::uint32_t*, MemorySpace>;
template <class MemorySpace>
using ConstWords = Kokkos::View<const std::uint32_t*, MemorySpace>;

/// The float32 that has the bits of `word`. word is a copy: through a reference to memory, a GPU would read
/// each byte alone.
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float number_in(std::uint32_t word) {
  return Kokkos::bit_cast<float>(word);
}

}  // namespace kadam
