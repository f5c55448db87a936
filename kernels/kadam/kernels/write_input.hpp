// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/with_format.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// load(i), where an input that goes on from a message is expected.
template <class Load>
struct IgnoresPrevious {
  Load load;

  KOKKOS_FORCEINLINE_FUNCTION float operator()(const std::int64_t i, const float /*previous*/) const {
    return load(i);
  }
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void with_format(const Function& function) const {
    detail::with_format(load, [&](const auto& typed_load) {
      function([&](const std::int64_t i, const float /*previous*/) { return typed_load(i); });
    });
  }
};

/// out(i) = load(i, value of element i): what decode_and_apply() makes of a message so that the input that
/// goes on from it lies there as a vector. Memory: 4 B per element and what load reads.
template <class Load, class MemorySpace>
struct WriteInput {
  Load load;
  Kokkos::View<float*, MemorySpace> out;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float previous) const {
    out(i) = load(i, previous);
  }
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void with_format(const Function& function) const {
    detail::with_format(load, [&](const auto& typed_load) {
      function([&](const std::int64_t i, const float previous) { out(i) = typed_load(i, previous); });
    });
  }
};

}  // namespace kadam
