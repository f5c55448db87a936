// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/segments.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {
namespace detail {

template <class Load, class MemorySpace>
struct ContinueValues {
  static constexpr std::int64_t block_elements = 2048;  ///< as of ElementLoop
  Load load;
  Kokkos::View<float*, MemorySpace> values;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t block) const {
    const std::int64_t first = block * block_elements;
    const auto elements = static_cast<std::int64_t>(values.extent(0));
    const std::int64_t last = Kokkos::min(first + std::int64_t{block_elements}, elements);
    for_each_apply(load, first, last, [&](const auto& known, const std::int64_t from, const std::int64_t to) {
      member.for_each(to - from,
                      [&](const std::int64_t k) { values(from + k) = known(from + k, values(from + k)); });
    });
  }
};

}  // namespace detail

/// values(i) <- load(i, values(i)): makes the input of an exchange from the result of the last one, in place.
///
/// load: as encode_continued() takes it. Memory: reads and writes values, 8 B per element, and the bytes that
/// load reads.
template <class Exec, class Load, class MemorySpace>
void continue_values(const Exec& exec, const Load& load, const Kokkos::View<float*, MemorySpace>& values) {
  using Continue = detail::ContinueValues<Load, MemorySpace>;
  const auto elements = static_cast<std::int64_t>(values.extent(0));
  detail::for_each_block("kadam::continue_values", exec, 0,
                         (elements + Continue::block_elements - 1) / Continue::block_elements,
                         Continue{load, values});
}

}  // namespace kadam
