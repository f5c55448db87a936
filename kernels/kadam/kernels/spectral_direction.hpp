// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/adam_direction.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/ordered_sum.hpp>
#include <kadam/kernels/segments.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>

/// Muon's kernels, except for its matrix products. The direction of a spectral matrix is its orthogonalised
/// momentum.
namespace kadam {

/// A matrix in a flat vector, row-major.
struct MatrixPlace {
  std::int64_t begin = 0;  ///< its first element in the flat vector
  std::int64_t rows = 0;
  std::int64_t columns = 0;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t elements() const { return rows * columns; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t long_side() const {
    return Kokkos::max(rows, columns);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION std::int64_t short_side() const {
    return Kokkos::min(rows, columns);
  }
};

namespace detail {

/// Elements of a block of the kernels below, as of ElementLoop.
inline constexpr std::int64_t matrix_block_elements = 2048;

template <class Exec, class Function>
void for_each_matrix_block(const char* label, const Exec& exec, const MatrixPlace& place,
                           const Function& function) {
  for_each_block(label, exec, 0, (place.elements() + matrix_block_elements - 1) / matrix_block_elements,
                 function);
}

template <class MemorySpace, Number T>
struct NesterovMomentum {
  MatrixPlace place;
  Ema first;
  float gradient_scale;
  Kokkos::View<const T*, MemorySpace> gradient;
  Kokkos::View<float*, MemorySpace> m;
  Kokkos::View<float*, MemorySpace> w;
  Kokkos::View<double*, MemorySpace> squares;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t block) const {
    constexpr std::int64_t width = matrix_block_elements;
    const std::int64_t begin = block * width;
    const std::int64_t count = Kokkos::min(width, place.elements() - begin);
    member.for_each(count, [&](const std::int64_t k) {
      const std::int64_t i = place.begin + begin + k;
      const float g = gradient_scale * to_float(gradient(i));
      const float moved = first(m(i), g);
      m(i) = moved;
      w(begin + k) = first(moved, g);
    });
    const double sum = member.sum(count, [&](const std::int64_t k) {
      const auto value = static_cast<double>(w(begin + k));
      return value * value;
    });
    member.once([&] { squares(block) = sum; });
  }
};

/// factor <- 1 / (sqrt(sum of squares(0) to squares(blocks - 1)) + 1e-7)
template <class MemorySpace>
struct InverseNorm {
  std::int64_t blocks;
  Kokkos::View<const double*, MemorySpace> squares;
  Kokkos::View<float*, MemorySpace> factor;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t /*block*/) const {
    const double sum = member.sum(blocks, [&](const std::int64_t k) { return squares(k); });
    member.once([&] { factor(0) = static_cast<float>(1.0 / (Kokkos::sqrt(sum) + 1e-7)); });
  }
};

template <class MemorySpace>
struct ScaleBy {
  MatrixPlace place;
  Kokkos::View<const float*, MemorySpace> factor;
  Kokkos::View<float*, MemorySpace> w;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t block) const {
    constexpr std::int64_t width = matrix_block_elements;
    const std::int64_t begin = block * width;
    const float by = factor(0);
    member.for_each(Kokkos::min(width, place.elements() - begin),
                    [&](const std::int64_t k) { w(begin + k) *= by; });
  }
};

template <class MemorySpace>
struct AddMatrix {
  MatrixPlace place;
  float keep;
  float step;
  Kokkos::View<const float*, MemorySpace> direction;
  Kokkos::View<float*, MemorySpace> target;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t block) const {
    constexpr std::int64_t width = matrix_block_elements;
    const std::int64_t begin = block * width;
    member.for_each(Kokkos::min(width, place.elements() - begin), [&](const std::int64_t k) {
      const std::int64_t i = place.begin + begin + k;
      target(i) = keep * target(i) + step * direction(begin + k);
    });
  }
};

}  // namespace detail

/// The length of `squares` of nesterov_direction() for a matrix of `elements` elements.
[[nodiscard]] inline std::int64_t nesterov_partial_sums(std::int64_t elements) {
  return (elements + detail::matrix_block_elements - 1) / detail::matrix_block_elements;
}

/// m <- ema(m, g);  w <- ema(m, g), with the new m (Nesterov);  w <- w / (|w| + 1e-7), with the Frobenius
/// norm |w|.
///
/// g = gradient_scale times the gradient; gradient_scale is that of clipping, and first the ema. The norm is
/// a sum in double in a fixed order. A w of zeros stays 0. squares and factor are workspace.
/// Shape: gradient and m are flat vectors; w holds the matrix alone; squares
/// [nesterov_partial_sums(place.elements())]; factor [1]. Memory: reads gradient and m, writes m, writes w
/// twice and reads it once: 24 B per element, 22 B for a gradient of 16 bits; three launches.
template <class Exec, class MemorySpace>
void nesterov_direction(const Exec& exec, const MatrixPlace& place, const Ema& first, float gradient_scale,
                        const std::type_identity_t<Numbers<MemorySpace>>& gradient,
                        const Kokkos::View<float*, MemorySpace>& m,
                        const Kokkos::View<float*, MemorySpace>& w,
                        const Kokkos::View<double*, MemorySpace>& squares,
                        const Kokkos::View<float*, MemorySpace>& factor) {
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& g) {
    detail::for_each_matrix_block(
        "kadam::nesterov_momentum", exec, place,
        detail::NesterovMomentum<MemorySpace, T>{place, first, gradient_scale, g, m, w, squares});
  });
  const std::int64_t blocks = nesterov_partial_sums(place.elements());
  detail::for_each_block("kadam::inverse_norm", exec, 0, 1,
                         detail::InverseNorm<MemorySpace>{blocks, squares, factor});
  detail::for_each_matrix_block("kadam::normalise_matrix", exec, place,
                                detail::ScaleBy<MemorySpace>{place, factor, w});
}

/// target <- keep target + step direction, in the elements of one matrix. Shape: target is a flat vector;
/// direction holds the matrix alone.
/// Memory: 12 B per element.
template <class Exec, class MemorySpace>
void add_matrix(const Exec& exec, const MatrixPlace& place, float keep, float step,
                const Kokkos::View<const float*, MemorySpace>& direction,
                const Kokkos::View<float*, MemorySpace>& target) {
  detail::for_each_matrix_block("kadam::add_matrix", exec, place,
                                detail::AddMatrix<MemorySpace>{place, keep, step, direction, target});
}

/// Makes the rule of a range: m, v by `moments`;  target <- (1 - decay lambda) target + step m / (sqrt(v /
/// c2) + eps). decay and step are multiplied by the range's lr_scale.
struct DecayedDirectionOf {
  MomentUpdate moments;
  double decay = 0.0;  ///< gamma, without the range's lr_scale; 0 if weights do not decay
  double step = 0.0;   ///< gamma / c1, or -gamma / c1, without the range's lr_scale
  float inverse_c2 = 1.0F;
  float eps = 0.0F;

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION MomentsAndDirection
  operator()(std::int64_t /*segment*/, const SegmentFactors& factors) const {
    return {moments,
            {static_cast<float>(1.0 - decay * factors.lr_scale * factors.weight_decay),
             static_cast<float>(step * factors.lr_scale), inverse_c2, eps}};
  }
};

/// Some ranges of a flat vector, and their places in a packed vector, in which they follow each other without
/// gaps.
template <class MemorySpace>
struct PackedRanges {
  SegmentTable<MemorySpace> segments;                        ///< a segment per range, in packed elements
  Kokkos::View<const std::int64_t*, MemorySpace> distances;  ///< flat minus packed index, of each range
  std::int64_t elements = 0;                                 ///< of all ranges
};

namespace detail {

template <class MemorySpace, Number T, class RuleOf>
struct PackedMomentsAndDirection {
  PackedRanges<MemorySpace> ranges;
  RuleOf rule_of;
  Kokkos::View<const T*, MemorySpace> gradient;
  Kokkos::View<float*, MemorySpace> m;
  Kokkos::View<float*, MemorySpace> v;
  Kokkos::View<float*, MemorySpace> target;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t block) const {
    constexpr std::int64_t width = matrix_block_elements;
    const std::int64_t begin = block * width;
    const std::int64_t end = Kokkos::min(begin + width, ranges.elements);
    ranges.segments.for_each_in(
        begin, end, [&](const std::int64_t segment, const std::int64_t first, const std::int64_t last) {
          const auto rule = rule_of(segment, ranges.segments.factors(segment));
          const std::int64_t i = first + ranges.distances(segment);
          const T* const in = gradient.data() + i;
          float* const momentum = m.data() + i;
          float* const variance = v.data() + first;
          float* const out = target.data() + i;
          member.for_each(last - first,
                          [&](const std::int64_t k) { rule(momentum[k], variance[k], in[k], out[k]); });
        });
  }
};

}  // namespace detail

/// m, v by ema of g, g²; target <- keep target + step m / (sqrt(v / c2) + eps), in the elements of the ranges
/// alone.
///
/// rule_of(range, its SegmentFactors) makes the MomentsAndDirection of a range, for example
/// DecayedDirectionOf. Shape: gradient, m and target are flat vectors; v is packed. Memory: 28 B per element
/// of the ranges, 26 B for a gradient of 16 bits; one launch.
template <class Exec, class RuleOf, class MemorySpace>
void accumulate_packed_direction(const Exec& exec, const PackedRanges<MemorySpace>& ranges,
                                 const RuleOf& rule_of,
                                 const std::type_identity_t<Numbers<MemorySpace>>& gradient,
                                 const Kokkos::View<float*, MemorySpace>& m,
                                 const Kokkos::View<float*, MemorySpace>& v,
                                 const Kokkos::View<float*, MemorySpace>& target) {
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& g) {
    const detail::PackedMomentsAndDirection<MemorySpace, T, RuleOf> kernel{ranges, rule_of, g, m, v, target};
    detail::for_each_block(
        "kadam::accumulate_packed_direction", exec, 0,
        (ranges.elements + detail::matrix_block_elements - 1) / detail::matrix_block_elements, kernel);
  });
}

}  // namespace kadam
