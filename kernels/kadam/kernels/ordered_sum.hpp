// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/number_format.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kadam {

/// Elements that one partial sum covers. Fixed, so that sums do not depend on the number of threads.
inline constexpr std::int64_t sum_tile_elements = 4096;

[[nodiscard]] inline std::int64_t sum_tiles(std::int64_t elements) {
  return (elements + sum_tile_elements - 1) / sum_tile_elements;
}

namespace detail {

template <class Function, class MemorySpace>
struct SumTile {
  Function function;
  std::int64_t elements;
  Kokkos::View<double*, MemorySpace> partial;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t tile) const {
    constexpr std::int64_t width =
        sum_tile_elements;  // taken by reference, which a device cannot do of a global
    const std::int64_t first = tile * width;
    const double sum = member.sum(Kokkos::min(width, elements - first),
                                  [&](const std::int64_t k) { return function(first + k); });
    member.once([&] { partial(tile) = sum; });
  }
};

}  // namespace detail

/// Where the partial sums of up to so many elements go. Memory: 8 B per 4096 elements, twice.
template <class MemorySpace>
struct SumSpace {
  Kokkos::View<double*, MemorySpace> partial;
  Kokkos::View<double*, Kokkos::SharedHostPinnedSpace> mirror;

  SumSpace() = default;
  explicit SumSpace(std::int64_t elements)
      : partial("kadam::SumSpace::partial", static_cast<std::size_t>(sum_tiles(elements))),
        mirror("kadam::SumSpace::mirror", static_cast<std::size_t>(sum_tiles(elements))) {}
};

/// sum of function(i) over [0, elements), in double and in a fixed order.
///
/// Ranks that hold the same numbers get the same sum whatever their number of threads: norms that steer an
/// update must be bitwise equal, or replicas drift apart. Fences exec.
/// Shape: space was made for as many elements or more. Memory: what function reads.
template <class Exec, class Function, class MemorySpace>
[[nodiscard]] double ordered_sum(const Exec& exec, std::int64_t elements, const Function& function,
                                 const SumSpace<MemorySpace>& space) {
  const std::int64_t tiles = sum_tiles(elements);
  detail::for_each_block("kadam::ordered_sum", exec, 0, tiles,
                         detail::SumTile<Function, MemorySpace>{function, elements, space.partial});
  const auto used = Kokkos::make_pair(std::int64_t{0}, tiles);
  Kokkos::deep_copy(exec, Kokkos::subview(space.mirror, used), Kokkos::subview(space.partial, used));
  exec.fence("kadam::ordered_sum");
  double sum = 0.0;
  for (std::int64_t tile = 0; tile < tiles; ++tile) sum += space.mirror(static_cast<std::size_t>(tile));
  return sum;
}

/// f(i) = x(i)^2: with ordered_sum, a squared norm. It is finite exactly when every x(i) is: squares of
/// float32 cannot overflow a double, so one read of the gradient gives both the norm and the finite check.
template <class MemorySpace, Number T = float>
struct SquareOf {
  Kokkos::View<const T*, MemorySpace> x;
  KOKKOS_FORCEINLINE_FUNCTION double operator()(const std::int64_t i) const {
    const auto value = static_cast<double>(to_float(x(i)));
    return value * value;
  }
};

/// f(i) = |x(i)|.
template <class MemorySpace>
struct MagnitudeOf {
  Kokkos::View<const float*, MemorySpace> x;
  KOKKOS_FORCEINLINE_FUNCTION double operator()(const std::int64_t i) const {
    return static_cast<double>(Kokkos::fabs(x(i)));
  }
};

}  // namespace kadam
