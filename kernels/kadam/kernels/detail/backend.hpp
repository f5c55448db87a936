// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/config.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

// nvcc 12.9 and later lays out members that have the attribute no_unique_address in one way for the host and
// in another for the GPU, so a kernel would read its Views at wrong addresses.
#if defined(__NVCC__) && defined(MDSPAN_IMPL_USE_ATTRIBUTE_NO_UNIQUE_ADDRESS) && \
    !defined(MDSPAN_IMPL_USE_FAKE_ATTRIBUTE_NO_UNIQUE_ADDRESS) &&                \
    !defined(KOKKOS_ENABLE_IMPL_VIEW_LEGACY) && __CUDACC_VER_MAJOR__ * 100 + __CUDACC_VER_MINOR__ >= 1209
#error \
    "this nvcc breaks the Views of this Kokkos: take Kokkos 4.7.2 or later, or Kokkos_ENABLE_IMPL_VIEW_LEGACY=ON"
#endif

/// The choices per backend that several kernels share: how much a CPU thread or a GPU team works on at a
/// time, and hints that one compiler understands and another does not. "GPU:" and "CPU:" say which of the two
/// uses a number. Results depend on sum_lanes, team_threads, narrow_team_threads, sum_parts and the numbers
/// of a factored variance (variance_...), because these set the order of a sum, as TensorTiles::tile_elements
/// does; they depend on nothing else here, and not on the number of threads. One build is an exception: with
/// KADAM_ENABLE_HOST_TEAMS teams of OpenMP threads run the code of a GPU, so that it is tested where there is
/// no GPU.

// Before a loop whose rounds do not depend on each other: the compiler may vectorise it without a proof.
#if defined(__clang__)
#define KADAM_SIMD _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__) && !defined(__CUDACC__)
#define KADAM_SIMD _Pragma("GCC ivdep")
#else
#define KADAM_SIMD
#endif

// Before a loop over an array that must stay in registers: unless the loop is unrolled, the compiler puts the
// array into memory. Empty where nvcc hands the code to a host compiler, because no host runs it there.
#if defined(__CUDA_ARCH__) || defined(__clang__)
#define KADAM_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define KADAM_UNROLL
#else
#define KADAM_UNROLL _Pragma("GCC unroll 16")
#endif

// Before a loop whose rounds are long enough: unrolled, it would take more registers per thread, and fewer
// threads would run at the same time.
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

/// True where one thread works on a block of elements (CPU), false where a team of threads does (GPU).
template <class Exec>
inline constexpr bool one_thread_per_block = runs_on_host<Exec> && !runs_host_teams<Exec>;

/// CPU: elements that one thread works on at a time; they, their values and codes stay in the innermost
/// cache. A multiple of 32 and of sum_lanes.
inline constexpr std::int64_t tile_elements = 256;

/// CPU: partial sums in double that a sum over elements has. Four vectors of 512 bits: enough to hide the
/// latency of an addition.
inline constexpr int sum_lanes = 32;

/// GPU: threads of a team; a power of two, and a multiple of a warp's threads on every GPU.
inline constexpr int team_threads = 128;

/// GPU: teams that a multiprocessor must be able to run at the same time, which bounds the registers of a
/// thread. 4 teams that hold 2048 elements each load 32 KiB at a time, more than enough to keep the memory of
/// an H200 busy; with 5 teams the compiler would spill registers.
inline constexpr unsigned teams_at_a_time = 4;

/// GPU: teams at the same time, as above, of the kernels that select the largest elements, where a team waits
/// for its scratch memory as well; with 7 teams the compiler would spill registers.
inline constexpr unsigned top_k_teams_at_a_time = 6;

/// GPU: elements that a thread holds in registers (held_elements), the same in a narrow team
/// (narrow_held_elements), and elements that a team of any size holds (held_by_any_team). So a team keeps a
/// block of 2048 elements between two passes over it, and a narrow team, which is one warp, a block of 256.
/// With KADAM_ENABLE_HOST_TEAMS a team may have a single thread: its 32 elements are a whole word of 1-bit
/// codes.
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

/// GPU: narrow teams that a multiprocessor must be able to run at the same time; it runs at most 32. With 24
/// a thread may have 80 registers, which the encoder of LoCo takes.
inline constexpr unsigned narrow_teams_at_a_time = 24;

/// KADAM_ENABLE_HOST_TEAMS: threads of a team, or all of Kokkos' threads if these are fewer.
inline constexpr int host_team_threads = 4;

/// GPU: elements whose sums of sparse messages lie in memory at the same time, 16 MiB for a vector of any
/// length. On a CPU these are the elements of one block per thread.
inline constexpr std::int64_t sparse_elements_at_a_time = std::int64_t{1} << 22;

/// GPU: threads that a multiprocessor runs at the same time, on an A100, an H100 and CDNA. Where it runs
/// fewer, LargeTopK takes more teams than run at the same time; its result is the same.
inline constexpr std::int64_t multiprocessor_threads = 2048;

/// GPU: LargeTopK has memory for one part of a vector per top_k_part_elements elements, because the counts of
/// a shorter part would cost more than its elements, and for at most top_k_parts parts: more than teams run
/// at the same time (792 on an H200's 132 multiprocessors). So the memory follows from the number of elements
/// alone, and a plan knows it. A CPU has one part per thread.
inline constexpr std::int64_t top_k_parts = 2048;
inline constexpr std::int64_t top_k_part_elements = 8192;

/// Size of a panel: the part of a matrix whose squares are summed together for a factored variance. CPU: at
/// most variance_panel_elements elements in rows of at most variance_panel_columns columns, whose sums stay
/// in the innermost cache. GPU: a square of variance_team_side by variance_team_side elements, which a team
/// holds in its scratch memory; panels of a narrow matrix are longer, up to variance_team_longest, but no
/// larger.
inline constexpr std::int64_t variance_panel_elements = 32768;
inline constexpr std::int64_t variance_panel_columns = 1024;
inline constexpr std::int64_t variance_team_side = 64;
inline constexpr std::int64_t variance_team_longest = 256;

/// GPU: values of a factored variance that one team computes, and threads that share the sums of one value.
inline constexpr std::int64_t variance_team_values = 8;
inline constexpr std::int64_t variance_team_shares = team_threads / variance_team_values;

/// GPU: the largest number of partial sums of a long vector. A CPU has one per tile of ordered_sum().
inline constexpr std::int64_t sum_parts = 4096;

/// Returns `value` of another thread of a narrow team (one warp): of the thread whose rank is this thread's
/// rank XOR distance. All threads of the team call it.
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

/// Memory of a GPU's team for `count` values of T: the same for all calls of a kernel.
template <class T, int count>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T* shared_by_team() {
#if defined(__CUDA_ARCH__) || defined(__HIP_DEVICE_COMPILE__)
  __shared__ T values[count];
  return values;
#else
  return nullptr;  // a CPU's teams have none
#endif
}

/// ++count, atomically, for a counter in scratch memory of the team. Kokkos' atomic operations would treat it
/// as memory of the whole GPU, which is slower; those of CUDA and HIP find out where it lies.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void increment_in_scratch(T& count) {
  KOKKOS_IF_ON_DEVICE((atomicAdd(&count, T{1});))
  KOKKOS_IF_ON_HOST((Kokkos::atomic_inc(&count);))
}

/// Returns count, then ++count, atomically, likewise in scratch memory of the team.
template <class T>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION T fetch_and_increment_in_scratch(T& count) {
  KOKKOS_IF_ON_DEVICE((return atomicAdd(&count, T{1});))
  KOKKOS_IF_ON_HOST((return Kokkos::atomic_fetch_add(&count, T{1});))
}

/// Asks memory for first[0, count), which a CPU's thread reads soon: memory would idle while the thread sums
/// and packs a block in cache. Only a hint; does nothing on a GPU.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void prefetch(const T* first, std::int64_t count) {
  KOKKOS_IF_ON_HOST((constexpr auto line = static_cast<std::int64_t>(64 / sizeof(T));
                     for (std::int64_t k = 0; k < count; k += line) __builtin_prefetch(first + k);))
  KOKKOS_IF_ON_DEVICE(((void)first; (void)count;))
}

/// CPU: whether a thread prefetches vectors that it reads from front to back, in a loop that waits for
/// memory. AMD's processors foresee such vectors, but only from loads that miss, and have more lines under
/// way than a thread can ask for; a thread that asks keeps them from it. Intel's foresee more where a thread
/// asks.
inline const bool prefetches_streams = [] {
#if (defined(__x86_64__) || defined(__i386__)) && defined(__GNUC__)
  __builtin_cpu_init();
  return __builtin_cpu_is("amd") == 0;
#else
  return true;
#endif
}();

/// prefetch() on processors on which that makes a loop faster that reads vectors from front to back and waits
/// for memory.
template <class T>
KOKKOS_FORCEINLINE_FUNCTION void prefetch_stream(const T* first, std::int64_t count) {
  KOKKOS_IF_ON_HOST((if (prefetches_streams) prefetch(first, count);))
  KOKKOS_IF_ON_DEVICE(((void)first; (void)count;))
}

}  // namespace kadam::detail
