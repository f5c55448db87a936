// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>

/// All that is chosen per backend: how much a CPU thread or a GPU team works on at a time, and hints that one
/// compiler understands and another does not. Results depend on sum_lanes and team_threads (the order of a
/// sum), on nothing else here, and on no number of threads.

#if defined(__clang__)
#define KADAM_SIMD _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__) && !defined(__CUDACC__)
#define KADAM_SIMD _Pragma("GCC ivdep")
#else
#define KADAM_SIMD
#endif

namespace kadam::detail {

template <class Exec>
inline constexpr bool runs_on_host = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible;

/// CPU: elements that one thread works on at a time; they, their values and codes stay in the innermost
/// cache. A multiple of 32 and of sum_lanes.
inline constexpr std::int64_t tile_elements = 256;

/// CPU: partial sums in double. Four vectors of 512 bits: enough to hide the latency of an addition.
inline constexpr int sum_lanes = 32;

/// GPU: threads of a team. With blocks of 256 to 4096 elements each has a few to do.
inline constexpr int team_threads = 128;

/// GPU: elements whose sparse sums are worked on at a time. A CPU takes one block per thread.
inline constexpr std::int64_t sparse_elements_at_a_time = std::int64_t{1} << 22;

/// GPU: parts that a long vector is cut in to select from it. A CPU takes one per thread.
inline constexpr std::int64_t top_k_parts = 512;

/// Asks a CPU for elements that are read soon: while a block is summed and packed in cache, memory would
/// wait. A hint.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void prefetch(const T* first, std::int64_t count) {
  KOKKOS_IF_ON_HOST((constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T));
                     for (std::int64_t k = 0; k < count; k += line) __builtin_prefetch(first + k);))
  KOKKOS_IF_ON_DEVICE(((void)first; (void)count;))
}

}  // namespace kadam::detail
