// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/pipelined_reduction.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <cstddef>
#include <memory>

namespace kadam {

/// The first `elements` numbers of type T in a buffer that serves several formats. The View does not keep the
/// buffer alive.
template <Number T>
[[nodiscard]] Vector<T> numbers_in(const Vector<std::byte>& buffer, std::int64_t elements) {
  using Unmanaged = Kokkos::View<T*, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  return Unmanaged(reinterpret_cast<T*>(buffer.data()), static_cast<std::size_t>(elements));
}

/// The mean of a dense vector over ranks, each chunk made by its owner: summed in rank order in float32,
/// times 1/n, rounded once to the format of the vector. Bitwise the same in every run, whatever arrives
/// first.
///
/// Memory: 4 d for the parts. Wire: 4 (d - c) bytes per rank for an own chunk of c elements; with
/// Replies::to_all 4 (n - 1) c more. Half of both in 16 bits. Worked number: d = 256, n = 4: 768 bytes, to
/// all 1536.
class OrderedReduction {
 public:
  using Replies = ReductionRun::Replies;

  OrderedReduction() = default;
  /// chunks: rank j owns chunk j. widest: of the formats that vectors will have, the one with the most bytes.
  OrderedReduction(const ExecutionSpace& exec, const ChunkLayout& chunks, int rank, NumberFormat widest);

  /// out <- the mean of values: with Replies::to_all of the whole vector on every rank, else of the own chunk
  /// alone. communicator: that of the owners, in the order of their chunks; its bytes count as `traffic`.
  /// Collective. Shape: values [d]; out [d], or [own chunk]. Errors: std::logic_error for a format wider than
  /// `widest`.
  template <Number T>
  void operator()(const ExecutionSpace& exec, Communicator& communicator, Phases& phases, Traffic traffic,
                  const Vector<const T>& values, const Vector<T>& out, Replies replies);
  /// Starts the same mean for values that are still being computed: see OverlappedReduction. This object,
  /// `communicator` and `phases` have to stay where they are until that reduction is finished. Shape: chunks
  /// of two ranks or more.
  template <Number T>
  [[nodiscard]] std::unique_ptr<OverlappedReduction> start(const ExecutionSpace& exec,
                                                           Communicator& communicator, Phases& phases,
                                                           Traffic traffic, const Vector<const T>& values,
                                                           const Vector<T>& out, Replies replies);

  /// The bytes that `rank` sends in one call.
  [[nodiscard]] static std::size_t bytes_sent(const ChunkLayout& chunks, int rank, NumberFormat format,
                                              Replies replies);
  /// The bytes of the parts that `rank` receives, the memory that an OrderedReduction holds.
  [[nodiscard]] static std::size_t memory_bytes(const ChunkLayout& chunks, int rank, NumberFormat widest);

 private:
  ChunkLayout chunks_;
  int rank_ = 0;
  ElementRange own_;
  std::size_t widest_bytes_ = sizeof(float);
  SlicedChunks float32_slices_;
  SlicedChunks half_slices_;
  Vector<std::byte> parts_;  ///< of the own chunk, from all ranks
};

}  // namespace kadam
