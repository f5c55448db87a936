// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>
#include <kadam/kernels/detail/host_large_top_k.hpp>
#include <kadam/kernels/detail/team_large_top_k.hpp>
#include <kadam/kernels/top_k.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace kadam {

/// Selects the k largest |values| of one block, which may be a whole vector of up to 2^32 - 1 elements, with
/// all threads: select_top_k() for blocks that are too long for one thread or team.
///
/// A radix select: it finds three digits of the k-th largest magnitude, then copies the elements that reach
/// it, in order. Nothing waits for the host. Deterministic: threads share only sums of integers and bits of
/// words. All selections of one object use its buffers, so only one may run at a time.
/// Memory of a CPU: reads all elements once, 4 B each, for the largest magnitude of every 32. These give a
/// bound that few elements reach: the groups of 32 that reach it, about 32 k elements, are read again, once,
/// and the elements that reach it are listed. Where most elements are equal, all are read five times; where 2
/// k exceeds a 32nd of the elements, four times. Keeps 12 B per 32 elements and 16 KiB per thread.
/// Memory of a GPU, in seven kernels: reads all elements once and writes the largest magnitude of every 32;
/// reads these maxima twice, for a bound, and all 32 elements wherever the maximum reaches it: at a density
/// of 1 % a third of all. The elements that reach the bound are listed, 8 B each, and the list is read four
/// times. A part of the vector has no list if more than a 32nd of it would be listed: its elements are then
/// read again. Worked number, random elements at 1 %: (1 + 2/32 + 1/3) 4 B and 4 x 0.013 x 8 B, about 1.5
/// reads of the vector; where all are equal, 5.1. Keeps 12 B per 32 elements and 2 KiB for each of up to 2048
/// teams.
template <class Exec>
class LargeTopK {
 public:
  using MemorySpace = typename Exec::memory_space;

  LargeTopK() = default;
  /// Allocates buffers for blocks of at most `elements` elements.
  LargeTopK(const Exec& exec, std::int64_t elements) : selection_(exec, elements) {}

  /// Writes the k entries that the map gives block `index` into `message`, as select_top_k() does.
  void operator()(const Exec& exec, const SparseMap& map, std::int64_t index,
                  const Kokkos::View<float*, MemorySpace>& values, Selected selected,
                  const Words<MemorySpace>& message) const {
    selection_.select(exec, map.block(index), {values, message, selected});
  }

  /// Bytes of the buffers for blocks of at most `elements` elements, on a CPU with `threads` threads, or on a
  /// GPU if threads is 0.
  [[nodiscard]] static std::size_t workspace_bytes(std::int64_t threads, std::int64_t elements) {
    return threads > 0 ? detail::host_large_top_k_bytes(threads, elements)
                       : detail::team_large_top_k_bytes(elements);
  }

 private:
  std::conditional_t<detail::one_thread_per_block<Exec>, detail::HostLargeTopK<Exec>,
                     detail::TeamLargeTopK<Exec>>
      selection_;
};

}  // namespace kadam
