// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/active_mask.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>

/// Inputs that tests of codes of blocks share.
namespace kadam::test {

/// Every other stretch of 600 elements is all active; in the others every seventh is not.
struct MostlyActive {
  KOKKOS_FUNCTION bool operator()(const std::int64_t i) const { return (i / 600) % 2 == 1 || i % 7 != 2; }
};

/// MostlyActive, or nothing, which is all.
template <class Exec>
ActiveMask<typename Exec::memory_space> mask_for(std::int64_t elements, bool with_inactive) {
  using Space = typename Exec::memory_space;
  if (!with_inactive) return {};
  const Kokkos::View<std::uint32_t*, Space> words(
      "mask", static_cast<std::size_t>(ActiveMask<Space>::words_for(elements)));
  fill_active_mask(Exec{}, words, elements, MostlyActive{});
  return {words, 0};
}

/// Half of what was said before, and y.
template <class Space>
struct Continue {
  Kokkos::View<const float*, Space> y;
  KOKKOS_FUNCTION float operator()(const std::int64_t i, const float before) const {
    return 0.5F * before + y(i);
  }
};

}  // namespace kadam::test
