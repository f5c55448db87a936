// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam {

namespace detail {

template <class MemorySpace>
struct FoldCorrections {
  float inverse_c1;
  float inverse_c2;
  Kokkos::View<float*, MemorySpace> m;
  Kokkos::View<float*, MemorySpace> v;

  KOKKOS_FUNCTION void operator()(const std::int64_t i) const {
    m(i) = v(i) > 0.0F ? m(i) * inverse_c1 : 0.0F;
    v(i) *= inverse_c2;
  }
};

template <class MemorySpace>
struct CountZeros {
  Kokkos::View<float*, MemorySpace> v;

  KOKKOS_FUNCTION void operator()(const std::int64_t i, std::int64_t& count) const {
    count += v(i) > 0.0F ? 0 : 1;
  }
};

}  // namespace detail

/// Folds the bias corrections into the moments, once: m <- m inverse_c1 (0 where v = 0), v <- v inverse_c2.
/// Memory: reads and writes m, v: 16 B per element.
template <class Exec, class MemorySpace>
void fold_corrections(const Exec& exec, float inverse_c1, float inverse_c2,
                      const Kokkos::View<float*, MemorySpace>& m,
                      const Kokkos::View<float*, MemorySpace>& v) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for("kadam::fold_corrections", Policy(exec, 0, static_cast<std::int64_t>(v.extent(0))),
                       detail::FoldCorrections<MemorySpace>{inverse_c1, inverse_c2, m, v});
}

/// Rule for variances that are far below the others in their scale block. R = sqrt(mean of all v > 0 in the
/// block).
struct VarianceFloor {
  double part = 0.0;  ///< raises sqrt(v) to at least part R; 0: changes nothing
  double eps = 0.0;   ///< Adam's eps, times sqrt(c2) if v is not corrected by c2

  /// Where sqrt(v) is below eps and below this part of R, gradients are noise: the rounding errors of a sum
  /// that is 0.
  static constexpr double noise_part = 1e-3;

  struct Limits {
    float noise;  ///< a v below it is noise
    float least;  ///< smallest v after raising
  };
  /// mean: of all v > 0 in the block.
  [[nodiscard]] KOKKOS_FUNCTION Limits limits(const double mean) const {
    return {static_cast<float>(Kokkos::min(eps * eps, noise_part * noise_part * mean)),
            static_cast<float>(part * part * mean)};
  }
};

namespace detail {

template <class MemorySpace>
struct RaiseVarianceOfBlock {
  BlockMap map;
  VarianceFloor floor;
  Kokkos::View<float*, MemorySpace> m;
  Kokkos::View<float*, MemorySpace> v;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    const auto at = [&](const std::int64_t k) { return v(block.first_element + k); };
    const double sum =
        member.sum(block.elements, [&](const std::int64_t k) { return static_cast<double>(at(k)); });
    const double count =
        member.sum(block.elements, [&](const std::int64_t k) { return at(k) > 0.0F ? 1.0 : 0.0; });
    const VarianceFloor::Limits limits = floor.limits(count > 0.0 ? sum / count : 0.0);
    member.for_each(block.elements, [&](const std::int64_t k) {
      const float value = at(k);
      if (!(value > 0.0F) || value >= limits.least) return;
      const std::int64_t i = block.first_element + k;
      const bool is_noise = value < limits.noise;
      v(i) = is_noise ? 0.0F : limits.least;
      if (is_noise) m(i) = 0.0F;
    });
  }
};

}  // namespace detail

/// Where 0 < sqrt(v) < part R:  v, m <- 0 if sqrt(v) < min(eps, R/1000), else v <- (part R)^2, with part, R
/// and eps of `floor`.
///
/// A 1-bit code gives all elements of a block the same magnitude s; an element whose sqrt(v) is far below the
/// others' then takes steps s / sqrt(v) of noise. part bounds these at 1/part times the block's usual step.
/// Dense Adam hardly moves an element whose sqrt(v) is below eps; v = 0 leaves it out of compression.
/// Does nothing when floor.part is 0. Worked number: v = (1, 1e-6, 1e-20), part 0.1, eps 1e-8: the second
/// becomes 0.0033, the third 0.
/// Memory: reads v, writes the elements of v and m that change: 4 to 12 B per element.
template <class Exec, class MemorySpace>
void raise_variance(const Exec& exec, const BlockMap& map, const VarianceFloor& floor,
                    const Kokkos::View<float*, MemorySpace>& m, const Kokkos::View<float*, MemorySpace>& v) {
  if (floor.part == 0.0) return;
  detail::for_each_block("kadam::raise_variance", exec, 0, map.blocks,
                         detail::RaiseVarianceOfBlock<MemorySpace>{map, floor, m, v});
}

/// The number of coordinates without variance (v not above 0). Waits for exec. Memory: 4 B per element.
template <class Exec, class MemorySpace>
[[nodiscard]] std::int64_t count_zeros(const Exec& exec, const Kokkos::View<float*, MemorySpace>& v) {
  using Policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
  std::int64_t zeros = 0;
  Kokkos::parallel_reduce("kadam::count_zeros", Policy(exec, 0, static_cast<std::int64_t>(v.extent(0))),
                          detail::CountZeros<MemorySpace>{v}, zeros);
  return zeros;
}

}  // namespace kadam
