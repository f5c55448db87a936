// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/last_team.hpp>
#include <kadam/kernels/number_format.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace kadam {

/// Elements of a tile. A partial sum covers one tile; on a GPU one or more, so that there are no more than
/// detail::sum_parts. Fixed, so that sums do not depend on the number of threads.
inline constexpr std::int64_t sum_tile_elements = 4096;

[[nodiscard]] inline std::int64_t sum_tiles(std::int64_t elements) {
  return (elements + sum_tile_elements - 1) / sum_tile_elements;
}

namespace detail {

/// Sums one tile by one thread.
template <class Function, class MemorySpace>
struct SumTile {
  Function function;
  std::int64_t elements;
  Kokkos::View<double*, MemorySpace> partial;

  KOKKOS_FUNCTION void operator()(const HostBlockMember& member, const std::int64_t tile) const {
    constexpr std::int64_t width =
        sum_tile_elements;  // Kokkos::min() takes a reference, which a device cannot do of a global
    const std::int64_t first = tile * width;
    partial(tile) = member.sum(Kokkos::min(width, elements - first),
                               [&](const std::int64_t k) { return function(first + k); });
  }
};

/// Sums one part by each team; the last team adds up the parts.
template <class Function, class MemorySpace>
struct SumPart {
  Function function;
  std::int64_t elements;
  std::int64_t part_elements;
  std::int64_t parts;
  Kokkos::View<double*, MemorySpace> partial;
  Kokkos::View<std::uint32_t*, MemorySpace> done;  ///< for is_last_team()
  Kokkos::View<double*, Kokkos::SharedHostPinnedSpace> total;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t part) const {
    const std::int64_t first = part * part_elements;
    const double of_part = sum(member, Kokkos::min(part_elements, elements - first),
                               [&](const std::int64_t k) { return function(first + k); });
    member.once([&] { partial(part) = of_part; });
    if (!is_last_team(member, done(0), parts)) return;
    const double of_all = sum(member, parts, [&](const std::int64_t p) { return partial(p); });
    member.once([&] { total(0) = of_all; });
  }

 private:
  template <class Member, class Value>
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION double sum(const Member& member, std::int64_t count,
                                                              const Value& value) {
    double of_thread = 0.0;
    member.for_each_loaded(
        0, count, [&](const std::int64_t k) { return static_cast<double>(value(k)); },
        [&](const std::int64_t, const double own) { of_thread += own; });
    return member.sum_of_threads(of_thread);
  }
};

}  // namespace detail

/// Workspace of ordered_sum() for up to `elements` elements. Memory: 8 B per 4096 elements; on a GPU at most
/// 32 KiB.
template <class MemorySpace>
struct SumSpace {
  Kokkos::View<double*, MemorySpace> partial;
  Kokkos::View<std::uint32_t*, MemorySpace> done;  ///< teams of a GPU that have summed; 0 between sums
  Kokkos::View<double*, Kokkos::SharedHostPinnedSpace> total;  ///< GPU: the result, where the host reads it

  SumSpace() = default;
  explicit SumSpace(std::int64_t elements)
      : partial("kadam::SumSpace::partial", static_cast<std::size_t>(partial_sums(elements))),
        done("kadam::SumSpace::done", 1),
        total("kadam::SumSpace::total", 1) {}

 private:
  static std::int64_t partial_sums(std::int64_t elements) {
    constexpr bool is_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;
    const std::int64_t tiles = sum_tiles(elements);
    return is_host ? tiles : std::min(tiles, detail::sum_parts);
  }
};

/// Returns the sum of function(i) over [0, elements), in double and in a fixed order.
///
/// Ranks that hold the same numbers get the same sum whatever their number of threads: norms that steer an
/// update must be bitwise equal, or replicas drift apart. Waits for exec, with one fence: a GPU sums in one
/// kernel, whose last team writes 8 B to the host.
/// Shape: space was made for at least `elements` elements. Memory: that of function.
template <class Exec, class Function, class MemorySpace>
[[nodiscard]] double ordered_sum(const Exec& exec, std::int64_t elements, const Function& function,
                                 const SumSpace<MemorySpace>& space) {
  const std::int64_t tiles = sum_tiles(elements);
  if constexpr (detail::one_thread_per_block<Exec>) {
    detail::for_each_block("kadam::ordered_sum", exec, 0, tiles,
                           detail::SumTile<Function, MemorySpace>{function, elements, space.partial});
    exec.fence("kadam::ordered_sum");
    double sum = 0.0;
    for (std::int64_t tile = 0; tile < tiles; ++tile) sum += space.partial(static_cast<std::size_t>(tile));
    return sum;
  } else {
    if (tiles == 0) return 0.0;
    // The number of parts follows from `elements`, not from the GPU: all GPUs add in the same order.
    const std::int64_t part_tiles = (tiles + detail::sum_parts - 1) / detail::sum_parts;
    const std::int64_t parts = (tiles + part_tiles - 1) / part_tiles;
    detail::for_each_block(
        "kadam::ordered_sum", exec, 0, parts,
        detail::SumPart<Function, MemorySpace>{function, elements, part_tiles * sum_tile_elements, parts,
                                               space.partial, space.done, space.total});
    exec.fence("kadam::ordered_sum");
    return space.total(0);
  }
}

/// f(i) = x(i)^2: with ordered_sum(), a squared norm. The norm is finite exactly when every x(i) is: squares
/// of float32 cannot overflow a double, so one read of the gradient gives both the norm and the finite check.
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
