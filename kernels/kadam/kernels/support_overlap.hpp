// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/sparse_accumulate.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

/// Numbers of coordinates: those that at least one rank sent (touched), and those that two or more ranks sent
/// (shared).
struct SupportOverlap {
  std::int64_t touched = 0;
  std::int64_t shared = 0;

  KOKKOS_INLINE_FUNCTION SupportOverlap& operator+=(const SupportOverlap& other) {
    touched += other.touched;
    shared += other.shared;
    return *this;
  }
};

namespace detail {

/// Counts one more sender of an entry's element, up to 2: more need not be told apart. A zero fills up a
/// block and does not count.
template <class MemorySpace>
struct CountSender {
  Kokkos::View<std::uint8_t*, MemorySpace> senders;
  KOKKOS_FUNCTION void operator()(const SparseMap::Entry& entry) const {
    std::uint8_t& count = senders(entry.element);
    if (entry.value == 0.0F || count == 2) return;
    count = count == 0 ? 1 : 2;
  }
};

template <class MemorySpace>
struct CountCoordinate {
  Kokkos::View<const std::uint8_t*, MemorySpace> senders;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, SupportOverlap& overlap) const {
    overlap.touched += senders(i) > 0 ? 1 : 0;
    overlap.shared += senders(i) > 1 ? 1 : 0;
  }
};

}  // namespace detail

/// Counts the coordinates that have an entry other than zero in at least one message, and in two or more.
/// Waits for exec.
///
/// Shape: senders (workspace) has map.elements elements; their values before do not matter.
/// Memory: 2 B per element, and all entries of the messages. Deterministic.
template <class Exec, class MemorySpace>
[[nodiscard]] SupportOverlap support_overlap(const Exec& exec, const SparseMessages<MemorySpace>& messages,
                                             const Kokkos::View<std::uint8_t*, MemorySpace>& senders) {
  Kokkos::deep_copy(exec, senders, std::uint8_t{0});
  for (int rank = 0; rank < messages.ranks; ++rank) {
    detail::for_each_entry("kadam::support_overlap", exec, messages, rank,
                           detail::CountSender<MemorySpace>{senders});
  }
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  SupportOverlap overlap;
  Kokkos::parallel_reduce("kadam::support_overlap", Policy(exec, 0, messages.map.elements),
                          detail::CountCoordinate<MemorySpace>{senders}, overlap);
  return overlap;
}

}  // namespace kadam
