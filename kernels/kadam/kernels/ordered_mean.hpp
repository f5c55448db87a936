// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>
#include <kadam/kernels/number_format.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

namespace kadam {

/// out[i] = (1/n) sum_r parts[r stride + i], summed in rank order in float32, multiplied by 1/n in float32
/// and rounded once to the format of the parts. ordered_mean() computes this for all elements.
template <Number T>
struct OrderedMeanOfElement {
  const T* parts;
  T* out;
  std::int64_t ranks;
  std::int64_t stride;
  float inverse_ranks;

  KOKKOS_FORCEINLINE_FUNCTION void operator()(const std::int64_t i) const {
    float sum = to_float(parts[i]);
    for (std::int64_t rank = 1; rank < ranks; ++rank) sum += to_float(parts[rank * stride + i]);
    out[i] = round_to<T>(sum * inverse_ranks);
  }
};

/// OrderedMeanOfElement for a tile of `width` elements, by one thread of a CPU: it adds up the tile rank
/// after rank, not element after element.
/// The parts of one element may lie a power of two apart, as chunks do. Those of a thousand ranks would then
/// share the few lines that a cache has for such addresses, and each line would be fetched anew for each
/// element. A plain loop may call this, where no execution space is free.
template <Number T>
struct OrderedMeanOfTile {
  static constexpr std::int64_t width = 1024;  ///< the sums, 4 KiB, stay in the innermost cache

  OrderedMeanOfElement<T> mean;
  std::int64_t elements;

  KOKKOS_FUNCTION void operator()(const std::int64_t tile) const {
    const std::int64_t first = tile * width;
    const std::int64_t count = Kokkos::min(std::int64_t{width}, elements - first);
    float sum[width];
    for (std::int64_t k = 0; k < count; ++k) sum[k] = to_float(mean.parts[first + k]);
    for (std::int64_t rank = 1; rank < mean.ranks; ++rank) {
      const T* const part = mean.parts + rank * mean.stride + first;
      for (std::int64_t k = 0; k < count; ++k) sum[k] += to_float(part[k]);
    }
    for (std::int64_t k = 0; k < count; ++k) mean.out[first + k] = round_to<T>(sum[k] * mean.inverse_ranks);
  }
  [[nodiscard]] std::int64_t tiles() const { return (elements + width - 1) / width; }
};

/// out(i) = (1/n) sum_r parts(r stride + i) for i in [0, elements), as OrderedMeanOfElement.
///
/// Shape: parts has (ranks - 1) stride + elements numbers or more; stride counts numbers; out does not
/// overlap parts. Memory: 4 (n + 1) B per element, half of that in 16 bits.
template <class Exec, class MemorySpace, Number T>
void ordered_mean(const Exec& exec, std::int64_t elements, int ranks, std::int64_t stride,
                  const std::type_identity_t<Kokkos::View<const T*, MemorySpace>>& parts,
                  const Kokkos::View<T*, MemorySpace>& out) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  const auto inverse = static_cast<float>(1.0 / ranks);
  const OrderedMeanOfElement<T> mean{parts.data(), out.data(), ranks, stride, inverse};
  if constexpr (detail::one_thread_per_block<Exec>) {
    const OrderedMeanOfTile<T> tile{mean, elements};
    Kokkos::parallel_for("kadam::ordered_mean", Policy(exec, 0, tile.tiles()), tile);
  } else {
    Kokkos::parallel_for("kadam::ordered_mean", Policy(exec, 0, elements), mean);
  }
}

}  // namespace kadam
