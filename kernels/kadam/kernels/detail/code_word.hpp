// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/quantiser.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// Codes and the 32-bit words of a message that hold them.
namespace kadam::detail {

template <Quantiser Q>
inline constexpr std::int64_t elements_per_word = 32 / Q::bits;

/// The codes of one message word, element by element.
template <Quantiser Q>
KOKKOS_FORCEINLINE_FUNCTION std::uint32_t code_at(std::uint32_t word, std::int64_t element) {
  if constexpr (Q::bits == 32) {
    return word;
  } else {
    constexpr std::uint32_t mask = (std::uint32_t{1} << Q::bits) - 1U;
    return (word >> static_cast<unsigned>(element * Q::bits)) & mask;
  }
}

/// function(count) with count a compile-time constant for full words, so that their loops unroll.
template <std::int64_t Full, class Function>
KOKKOS_FORCEINLINE_FUNCTION void with_count(std::int64_t count, const Function& function) {
  if (count >= Full) {
    function(Full);
  } else {
    function(count);
  }
}

}  // namespace kadam::detail
