// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/config.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

// A kernel would read its Views at wrong addresses: nvcc from 12.9 on lays out such members in one way for
// the host and in another for the GPU.
#if defined(__NVCC__) && defined(MDSPAN_IMPL_USE_ATTRIBUTE_NO_UNIQUE_ADDRESS) && \
    !defined(MDSPAN_IMPL_USE_FAKE_ATTRIBUTE_NO_UNIQUE_ADDRESS) &&                \
    !defined(KOKKOS_ENABLE_IMPL_VIEW_LEGACY) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1209
#error \
    "this nvcc breaks the Views of this Kokkos: take Kokkos 4.7.2 or later, or Kokkos_ENABLE_IMPL_VIEW_LEGACY=ON"
#endif

/// All that is chosen per backend: how much a CPU thread or a GPU team works on at a time, and hints that one
/// compiler understands and another does not. Results depend on sum_lanes, team_threads, sum_parts and the
/// panels of a variance (the order of a sum), on nothing else here, and on no number of threads. One build is
/// an exception: KADAM_ENABLE_HOST_TEAMS lets teams of OpenMP's threads take a GPU's way, so that tests
/// without a GPU can run it.

#if defined(__clang__)
#define KADAM_SIMD _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__) && !defined(__CUDACC__)
#define KADAM_SIMD _Pragma("GCC ivdep")
#else
#define KADAM_SIMD
#endif

// A loop over registers: unrolled, or they are memory. What nvcc hands to another compiler for the host is
// never run.
#if defined(__CUDA_ARCH__) || defined(__clang__)
#define KADAM_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define KADAM_UNROLL
#else
#define KADAM_UNROLL _Pragma("GCC unroll 16")
#endif

// A loop whose rounds are long enough: unrolled, a thread would need registers that other threads want.
#if defined(__CUDA_ARCH__) || defined(__clang__)
#define KADAM_DO_NOT_UNROLL _Pragma("unroll 1")
#else
#define KADAM_DO_NOT_UNROLL
#endif

namespace kadam::detail {

template <class Exec>
inline constexpr bool runs_on_host = Kokkos::SpaceAccessibility<Exec, Kokkos::HostSpace>::accessible;

#ifdef KADAM_ENABLE_HOST_TEAMS
template <class Exec>
inline constexpr bool runs_host_teams = runs_on_host<Exec> && !std::is_same_v<Exec, Kokkos::Serial>;
#else
template <class Exec>
inline constexpr bool runs_host_teams = false;
#endif

/// Whether one thread walks a block of elements (CPU), or a team of threads (GPU).
template <class Exec>
inline constexpr bool one_thread_per_block = runs_on_host<Exec> && !runs_host_teams<Exec>;

/// CPU: elements that one thread works on at a time; they, their values and codes stay in the innermost
/// cache. A multiple of 32 and of sum_lanes.
inline constexpr std::int64_t tile_elements = 256;

/// CPU: partial sums in double. Four vectors of 512 bits: enough to hide the latency of an addition.
inline constexpr int sum_lanes = 32;

/// GPU: threads of a team, a power of two and a multiple of every width of a warp.
inline constexpr int team_threads = 128;

/// GPU: teams that a multiprocessor takes at a time at least: bounds the registers of a thread. 4 teams that
/// hold 2048 elements each ask for 32 KiB at a time, more than it takes to keep the memory of an H200 busy;
/// with 5 the compiler would spill.
inline constexpr unsigned teams_at_a_time = 4;

/// GPU: the same for selecting the largest elements, where a team waits for its own memory as well; with 7
/// the compiler would spill.
inline constexpr unsigned top_k_teams_at_a_time = 6;

/// GPU: elements that a thread holds in registers. A team holds a block of 2048 between two looks at it, a
/// narrow team, which is one warp, a block of 256. On a CPU a team of one thread has to hold whole words,
/// too.
#ifdef KADAM_ENABLE_HOST_TEAMS
inline constexpr int held_elements = 32;
inline constexpr int narrow_held_elements = 32;
inline constexpr std::int64_t held_by_any_team = held_elements;
#else
inline constexpr int held_elements = 16;
inline constexpr int narrow_held_elements = 8;
inline constexpr std::int64_t held_by_any_team = std::int64_t{team_threads} * held_elements;
#endif
inline constexpr int narrow_team_threads = 32;

/// GPU: narrow teams that a multiprocessor takes at a time at least; it takes 32 at most.
inline constexpr unsigned narrow_teams_at_a_time = 24;

/// Team path on a CPU: threads of a team, if Kokkos has as many.
inline constexpr int host_team_threads = 4;

/// GPU: elements whose sparse sums are worked on at a time. A CPU takes one block per thread.
inline constexpr std::int64_t sparse_elements_at_a_time = std::int64_t{1} << 22;

/// GPU: threads that a multiprocessor takes at a time.
inline constexpr std::int64_t multiprocessor_threads = 2048;

/// GPU: parts that a long vector is cut in to select from it, at most, and elements of one, at least: more
/// than teams run at the same time (792 on an H200's 132 multiprocessors), and a shorter part would cost more
/// for its counts than for its elements. The number follows from the elements alone, so that a plan knows the
/// memory. A CPU takes one part per thread.
inline constexpr std::int64_t top_k_parts = 2048;
inline constexpr std::int64_t top_k_part_elements = 8192;

/// Elements of a panel of a matrix whose squares are summed together, for a factored variance. CPU: rows of
/// so many columns at most, whose sums are then in the innermost cache. GPU: about a square, which the team
/// holds in its memory; a side of a narrow one is no longer than `longest`.
inline constexpr std::int64_t variance_panel_elements = 32768;
inline constexpr std::int64_t variance_panel_columns = 1024;
inline constexpr std::int64_t variance_team_side = 64;
inline constexpr std::int64_t variance_team_longest = 256;

/// GPU: values of a factored variance that a team takes, and threads that share the sums of one.
inline constexpr std::int64_t variance_team_values = 8;
inline constexpr std::int64_t variance_team_shares = team_threads / variance_team_values;

/// GPU: partial sums of a long vector, at most. A CPU takes one per tile.
inline constexpr std::int64_t sum_parts = 4096;

/// What the thread whose rank differs by this bit has, of a narrow team, which is one warp.
template <class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T of_other_lane(T value, int distance) {
#if defined(__CUDA_ARCH__)
  return __shfl_xor_sync(0xffffffffU, value, distance);
#elif defined(__HIP_DEVICE_COMPILE__)
  return __shfl_xor(value, distance, narrow_team_threads);
#else
  (void)distance;
  return value;  // a CPU has no narrow team
#endif
}

/// ++count, for a counter in memory of the team. Kokkos' atomic operations would take that for memory of the
/// whole GPU, which is slower; CUDA's and HIP's own find out which it is.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void increment_in_scratch(T& count) {
  KOKKOS_IF_ON_DEVICE((atomicAdd(&count, T{1});))
  KOKKOS_IF_ON_HOST((Kokkos::atomic_inc(&count);))
}

/// The counter before it is one more, likewise.
template <class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T fetch_and_increment_in_scratch(T& count) {
  KOKKOS_IF_ON_DEVICE((return atomicAdd(&count, T{1});))
  KOKKOS_IF_ON_HOST((return Kokkos::atomic_fetch_add(&count, T{1});))
}

/// Asks a CPU for elements that are read soon: while a block is summed and packed in cache, memory would
/// wait. A hint.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void prefetch(const T* first, std::int64_t count) {
  KOKKOS_IF_ON_HOST((constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T));
                     for (std::int64_t k = 0; k < count; k += line) __builtin_prefetch(first + k);))
  KOKKOS_IF_ON_DEVICE(((void)first; (void)count;))
}

}  // namespace kadam::detail
