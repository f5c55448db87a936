// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/with_format.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {
namespace detail {

template <class Load, class MemorySpace>
struct ContinueValues {
  static constexpr std::int64_t block_elements = 2048;
  Load load;
  Kokkos::View<float*, MemorySpace> values;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t block) const {
    const std::int64_t first = block * block_elements;
    const auto elements = static_cast<std::int64_t>(values.extent(0));
    with_format(load, [&](const auto& typed_load) {
      member.for_each(Kokkos::min(std::int64_t{block_elements}, elements - first), [&](const std::int64_t k) {
        values(first + k) = typed_load(first + k, values(first + k));
      });
    });
  }
};

}  // namespace detail

/// values(i) <- load(i, values(i)): makes the input of an exchange from the result of the last one, in place.
///
/// load.with_format(f), if there is such a function, calls f with a load for one number format. Memory: reads
/// and writes values, 8 B per element, and what load reads.
template <class Exec, class Load, class MemorySpace>
void continue_values(const Exec& exec, const Load& load, const Kokkos::View<float*, MemorySpace>& values) {
  using Continue = detail::ContinueValues<Load, MemorySpace>;
  const auto elements = static_cast<std::int64_t>(values.extent(0));
  detail::for_each_block("kadam::continue_values", exec, 0,
                         (elements + Continue::block_elements - 1) / Continue::block_elements,
                         Continue{load, values});
}

}  // namespace kadam
