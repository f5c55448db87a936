// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/detail/backend.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

namespace kadam::detail {

/// The thread that works on a block, on a CPU.
struct HostBlockMember {
  static constexpr bool is_one_thread = true;

  /// function(first, length) for consecutive parts of [0, count), of tile_elements each: a part stays in the
  /// innermost cache while function works on it.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_part(std::int64_t count, const Function& function) const {
    for (std::int64_t first = 0; first < count; first += tile_elements) {
      function(first, Kokkos::min(tile_elements, count - first));
    }
  }

  /// function(k) for every k in [0, count). No call may depend on another: the loop is vectorised.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each(std::int64_t count, const Function& function) const {
    KADAM_SIMD
    for (std::int64_t k = 0; k < count; ++k) function(k);
  }

  /// function(k, lane of k) for every k in [0, count), for a loop that adds to several Sums. No call may
  /// depend on another, but through the partial sum of its lane: the loop over the lanes is vectorised.
  template <class Function>
  static KOKKOS_FORCEINLINE_FUNCTION void for_each_in_lanes(std::int64_t count, const Function& function) {
    std::int64_t k = 0;
    for (; k + sum_lanes <= count; k += sum_lanes) {
      KADAM_SIMD
      for (int lane = 0; lane < sum_lanes; ++lane) function(k + lane, lane);
    }
    for (int lane = 0; k < count; ++k, ++lane) function(k, lane);
  }

  /// A sum in double with a fixed number of partial sums, one per lane. Its order is the same for every
  /// vector length of the processor, and however the elements are cut into calls of add(), if the count of
  /// each call but the last is a multiple of `lanes`.
  struct Sum {
    static constexpr int lanes = sum_lanes;
    double partial[lanes] = {};

    template <class Function>
    KOKKOS_FORCEINLINE_FUNCTION void add(const HostBlockMember& /*member*/, std::int64_t count,
                                         const Function& function) {
      accumulate(count, [&](const double sum, const std::int64_t k) {
        return sum + static_cast<double>(function(k));
      });
    }
    /// p <- function(p, k) for every k in [0, count), where p is the partial sum of lane k % lanes.
    template <class Function>
    KOKKOS_FORCEINLINE_FUNCTION void accumulate(std::int64_t count, const Function& function) {
      for_each_in_lanes(
          count, [&](const std::int64_t k, const int lane) { partial[lane] = function(partial[lane], k); });
    }
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION double value(const HostBlockMember& /*member*/) const {
      double total = 0.0;
      for (const double of_lane : partial) total += of_lane;
      return total;
    }
  };

  /// The largest value, or 0 if no value is larger. A NaN counts as the largest, unless its sign bit is set.
  /// Compares the bits as integers, which have the same order for numbers >= 0: compilers do not vectorise a
  /// float maximum, because of NaNs.
  struct Max {
    std::int32_t largest = 0;

    template <class Function>
    KOKKOS_FORCEINLINE_FUNCTION void add(const HostBlockMember& /*member*/, std::int64_t count,
                                         const Function& function) {
      std::int32_t so_far = largest;
      KADAM_SIMD
      for (std::int64_t k = 0; k < count; ++k) {
        const auto value = Kokkos::bit_cast<std::int32_t>(static_cast<float>(function(k)));
        so_far = value > so_far ? value : so_far;
      }
      largest = so_far;
    }
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float value(const HostBlockMember& /*member*/) const {
      return Kokkos::bit_cast<float>(largest);
    }
  };

  /// Smallest of numbers >= 0, infinity if there is none. Compared as integers, as Max.
  struct Min {
    float smallest = std::numeric_limits<float>::infinity();

    template <class Function>
    KOKKOS_FORCEINLINE_FUNCTION void add(const HostBlockMember& /*member*/, std::int64_t count,
                                         const Function& function) {
      auto so_far = Kokkos::bit_cast<std::int32_t>(smallest);
      KADAM_SIMD
      for (std::int64_t k = 0; k < count; ++k) {
        const auto value = Kokkos::bit_cast<std::int32_t>(static_cast<float>(function(k)));
        so_far = value < so_far ? value : so_far;
      }
      smallest = Kokkos::bit_cast<float>(so_far);
    }
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float value(const HostBlockMember& /*member*/) const {
      return smallest;
    }
  };

  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION double sum(std::int64_t count, const Function& function) const {
    Sum sum;
    sum.add(*this, count, function);
    return sum.value(*this);
  }

  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION float max(std::int64_t count, const Function& function) const {
    Max max;
    max.add(*this, count, function);
    return max.value(*this);
  }

  /// The number of k in [0, count) with predicate(k). Shape: count < 2^31, because narrow counters vectorise
  /// better.
  template <class Predicate>
  KOKKOS_FORCEINLINE_FUNCTION std::int64_t count(std::int64_t count, const Predicate& predicate) const {
    std::int32_t total = 0;
    for (std::int64_t k = 0; k < count; ++k) total += predicate(k) ? 1 : 0;
    return total;
  }

  /// visit(k, sum of mark(j) over all j < k) for every k in [0, count) with mark(k) != 0, in ascending order.
  template <class Mark, class Visit>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_marked(std::int64_t count, const Mark& mark,
                                                   const Visit& visit) const {
    std::int64_t before = 0;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t own = mark(k);
      if (own == 0) continue;
      visit(k, before);
      before += own;
    }
  }

  /// ++bins(bin_of(k)) for every k in [0, count) with bin_of(k) >= 0.
  template <class Bins, class BinOf>
  KOKKOS_FORCEINLINE_FUNCTION void tally(std::int64_t count, const Bins& bins, const BinOf& bin_of) const {
    for (std::int64_t k = 0; k < count; ++k) {
      const std::int64_t bin = bin_of(k);
      if (bin >= 0) ++bins(bin);
    }
  }

  /// word |= bits. TeamBlockMember has the same for a word that several of its threads write to.
  template <class Word>
  KOKKOS_FORCEINLINE_FUNCTION void merge(Word& word, Word bits) const {
    word |= bits;
  }

  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void once(const Function& function) const {
    function();
  }
};

}  // namespace kadam::detail
