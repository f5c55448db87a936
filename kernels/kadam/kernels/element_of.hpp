// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// f(i) = values(i): passes a vector to a kernel that takes its input as a function load(i).
template <class MemorySpace>
struct ElementOf {
  Kokkos::View<const float*, MemorySpace> values;
  KOKKOS_FORCEINLINE_FUNCTION float operator()(const std::int64_t i) const { return values(i); }
};

/// values(i) <- value: passes a vector to a kernel that gives each decoded element to a function
/// apply(i, value).
template <class MemorySpace>
struct WriteElement {
  Kokkos::View<float*, MemorySpace> values;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i, const float value) const {
    values(i) = value;
  }
};

}  // namespace kadam
