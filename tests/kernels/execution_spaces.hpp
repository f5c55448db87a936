// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace kadam::test {

/// Every execution space that Kokkos was built with, once.
using ExecutionSpaces =
    std::conditional_t<std::is_same_v<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>,
                       std::conditional_t<std::is_same_v<Kokkos::DefaultHostExecutionSpace, Kokkos::Serial>,
                                          testing::Types<Kokkos::Serial>,
                                          testing::Types<Kokkos::DefaultHostExecutionSpace, Kokkos::Serial>>,
                       testing::Types<Kokkos::DefaultExecutionSpace, Kokkos::DefaultHostExecutionSpace>>;

inline constexpr std::int64_t sizes[] = {0, 1, 31, 32, 33, 1000, (1 << 20) + 7};

}  // namespace kadam::test
