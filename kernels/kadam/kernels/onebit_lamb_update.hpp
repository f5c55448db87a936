// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/lamb_update.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// The compressed phase of 1-bit LAMB (Li et al. 2022), per tile and per tensor.
namespace kadam {

/// Per tensor, after the freeze.
template <class MemorySpace>
struct OnebitLambTensors {
  Kokkos::View<float*, MemorySpace> momentum_scale;  ///< sigma: brings all tensors to one size on the wire
  Kokkos::View<float*, MemorySpace> trust_ratio;     ///< c, averaged in the warm-up
  Kokkos::View<float*, MemorySpace> ratio;           ///< r, between frozen and fresh variance
  Kokkos::View<double*, MemorySpace> partial;        ///< three per tile
};

/// What the compressed step knows of the whole model.
struct OnebitLambStep {
  float eps = 0.0F;
  float gamma = 0.0F;
  double ratio_min = 0.5;
  double ratio_max = 4.0;
  double ratio_change = 0.1;
};

namespace detail {

template <class MemorySpace>
struct AddScaledMomentum {
  TensorTiles<MemorySpace> tiles;
  Kokkos::View<const float*, MemorySpace> scale;
  Ema first;
  float gradient_scale;
  Kokkos::View<const float*, MemorySpace> m;
  Numbers<MemorySpace> gradient;
  Kokkos::View<float*, MemorySpace> target;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    const float sigma = scale(tile.tensor);
    gradient.with_format([&](const auto& numbers) {
      member.for_each(tile.end - tile.begin, [&](const std::int64_t k) {
        const std::int64_t i = tile.begin + k;
        target(i) += sigma * first(m(i), gradient_scale * to_float(numbers(i)));
      });
    });
  }
};

template <class MemorySpace>
struct MomentumNorms {
  TensorTiles<MemorySpace> tiles;
  ElementArray<const float, true> m;
  ElementArray<const float, true> v;
  Kokkos::View<double*, MemorySpace> partial;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    double squared = 0.0;
    double active = 0.0;
    if constexpr (Member::is_one_thread) {
      const std::int64_t count = tile.end - tile.begin;
      squared = member.sum(count, [&](const std::int64_t k) { return square(m.data[tile.begin + k]); });
      active = member.sum(count, [&](const std::int64_t k) { return is_active(v.data[tile.begin + k]); });
    } else {
      const auto add = [&](const float& m_i, const float& v_i) {
        squared += square(m_i);
        active += is_active(v_i);
      };
      for_each_element_of(member, tile.begin, tile.end, add, m, v);
      squared = member.sum_of_threads(squared);
      active = member.sum_of_threads(active);
    }
    member.once([&] {
      partial(3 * index) = squared;
      partial(3 * index + 1) = active;
    });
  }

 private:
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION double square(float value) {
    return static_cast<double>(value) * static_cast<double>(value);
  }
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION double is_active(float v) { return v > 0.0F ? 1.0 : 0.0; }
};

template <class MemorySpace>
struct OnebitLambNorms {
  OnebitLambStep rule;
  TensorTiles<MemorySpace> tiles;
  Kokkos::View<const float*, MemorySpace> lambda;
  Kokkos::View<double*, MemorySpace> partial;
  ElementArray<const float, true> x;
  ElementArray<const float, true> m;
  ElementArray<const float, true> v;
  ElementArray<const float, true> fresh;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    const float decay = lambda(tile.tensor);
    double p_squared = 0.0;
    double u_squared = 0.0;
    float largest = 0.0F;
    if constexpr (Member::is_one_thread) {
      HostBlockMember::Sum of_p;
      HostBlockMember::Sum of_u;
      HostBlockMember::Max of_ratio;
      member.for_each_part(tile.end - tile.begin, [&](const std::int64_t in_tile, const std::int64_t length) {
        const std::int64_t first = tile.begin + in_tile;
        if (decay > 0.0F) {  // else nobody asks for the norms
          of_p.add(member, length, [&](const std::int64_t k) {
            const auto p = static_cast<double>(direction(m.data[first + k], v.data[first + k]));
            return p * p;
          });
          of_u.add(member, length, [&](const std::int64_t k) {
            const std::int64_t i = first + k;
            const auto u = static_cast<double>(direction(m.data[i], v.data[i]) + decay * x.data[i]);
            return u * u;
          });
        }
        of_ratio.add(member, length, [&](const std::int64_t k) {
          return ratio_of_roots(v.data[first + k], fresh.data[first + k]);
        });
      });
      p_squared = of_p.value(member);
      u_squared = of_u.value(member);
      largest = of_ratio.value(member);
    } else {
      const auto add_ratio = [&](const float& v_i, const float& fresh_i) {
        largest = larger(ratio_of_roots(v_i, fresh_i), largest);
      };
      if (decay > 0.0F) {
        const auto add = [&](const float& x_i, const float& m_i, const float& v_i, const float& fresh_i) {
          const float p = direction(m_i, v_i);
          const auto u = static_cast<double>(p + decay * x_i);
          p_squared += static_cast<double>(p) * static_cast<double>(p);
          u_squared += u * u;
          add_ratio(v_i, fresh_i);
        };
        for_each_element_of(member, tile.begin, tile.end, add, x, m, v, fresh);
        p_squared = member.sum_of_threads(p_squared);
        u_squared = member.sum_of_threads(u_squared);
      } else {
        for_each_element_of(member, tile.begin, tile.end, add_ratio, v, fresh);
      }
      largest = member.max_of_threads(largest);
    }
    member.once([&] {
      partial(3 * index) = p_squared;
      partial(3 * index + 1) = u_squared;
      partial(3 * index + 2) = static_cast<double>(largest);
    });
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float direction(float m_i, float v_i) const {
    return m_i / (Kokkos::sqrt(v_i) + rule.eps);
  }
  /// 0 where the element is not active.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float ratio_of_roots(float v_i, float fresh_i) const {
    const float of_roots = (Kokkos::sqrt(v_i) + rule.eps) / (Kokkos::sqrt(fresh_i) + rule.eps);
    return v_i > 0.0F ? of_roots : 0.0F;
  }
  /// Of numbers >= 0, as integers: a NaN is the largest, as on a CPU.
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION float larger(float a, float b) {
    return Kokkos::bit_cast<std::int32_t>(a) > Kokkos::bit_cast<std::int32_t>(b) ? a : b;
  }
};

/// The ratio of each tensor from the shares of its tiles.
template <class MemorySpace>
struct OnebitLambRatios {
  OnebitLambStep rule;
  SumOfTiles<MemorySpace> sum;
  Kokkos::View<const float*, MemorySpace> lambda;
  Kokkos::View<float*, MemorySpace> ratio;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t tensor) const {
    const double p_squared = sum(member, tensor, 0);
    const double u_squared = sum(member, tensor, 1);
    const std::int64_t first = sum.tiles.first_tile(tensor);
    const float largest = member.max(sum.tiles.first_tile(tensor + 1) - first, [&](const std::int64_t k) {
      return static_cast<float>(sum.partial(3 * (first + k) + 2));
    });
    member.once([&] {
      double next = largest > 0.0F ? static_cast<double>(largest) : 1.0;
      if (lambda(tensor) > 0.0F && u_squared > 0.0) {
        const double q = Kokkos::min(1.0, Kokkos::sqrt(p_squared) / Kokkos::sqrt(u_squared));
        next = next * q + 1.0 - q;
      }
      const auto before = static_cast<double>(ratio(tensor));
      next = Kokkos::clamp(next, rule.ratio_min, rule.ratio_max);
      next = Kokkos::clamp(next, (1.0 - rule.ratio_change) * before, (1.0 + rule.ratio_change) * before);
      ratio(tensor) = static_cast<float>(next);
    });
  }
};

template <class MemorySpace>
struct OnebitLambApply {
  OnebitLambStep rule;
  TensorTiles<MemorySpace> tiles;
  LambTensors<MemorySpace> tensors;
  OnebitLambTensors<MemorySpace> frozen;
  ElementArray<float, true> x;
  ElementArray<const float, true> m;
  ElementArray<const float, true> v;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    const float decay = tensors.lambda(tile.tensor);
    const float step = rule.gamma * tensors.lr_scale(tile.tensor) * frozen.ratio(tile.tensor) *
                       frozen.trust_ratio(tile.tensor);
    const auto apply = [&](float& x_i, const float& m_i, const float& v_i) {
      x_i -= step * (m_i / (Kokkos::sqrt(v_i) + rule.eps) + decay * x_i);
    };
    for_each_element_of(member, tile.begin, tile.end, apply, x, m, v);
  }
};

}  // namespace detail

/// target += sigma ema(m, g, beta1), sigma of the tensor. Memory: 16 B per element; 14 B for a gradient of
/// 16 bits.
template <class Exec, class MemorySpace>
void add_scaled_momentum(const Exec& exec, const TensorTiles<MemorySpace>& tiles,
                         const OnebitLambTensors<MemorySpace>& tensors, const Ema& first,
                         float gradient_scale, const Kokkos::View<const float*, MemorySpace>& m,
                         const Numbers<MemorySpace>& gradient,
                         const Kokkos::View<float*, MemorySpace>& target) {
  detail::for_each_block("kadam::add_scaled_momentum", exec, 0, tiles.tile_count(),
                         detail::AddScaledMomentum<MemorySpace>{tiles, tensors.momentum_scale, first,
                                                                gradient_scale, m, gradient, target});
}

/// Per tile: sum of m^2 and number of elements with v > 0, the first two of three in `partial`.
/// Memory: 8 B per element.
template <class Exec, class MemorySpace>
void momentum_norms(const Exec& exec, const TensorTiles<MemorySpace>& tiles,
                    const Kokkos::View<const float*, MemorySpace>& m,
                    const Kokkos::View<const float*, MemorySpace>& v,
                    const Kokkos::View<double*, MemorySpace>& partial) {
  detail::for_each_block("kadam::momentum_norms", exec, 0, tiles.tile_count(),
                         detail::MomentumNorms<MemorySpace>{tiles, reads(m), reads(v), partial});
}

/// r <- clip(clip(r', ratio_min, ratio_max), (1 - change) r, (1 + change) r) per tensor, with r' the largest
/// (sqrt(v) + eps) / (sqrt(w) + eps) of its active elements (1 if there are none), w the fresh variance. With
/// weight decay r' <- r' q + 1 - q, q = min(1, |p| / |u|), p = m / (sqrt(v) + eps), u = p + lambda x.
/// Memory: reads x, m, v, w: 16 B per element; v and w alone, 8 B, in tensors without weight decay.
/// Worked number: v = 4, w = 1, eps = lambda = 0, r = 1, change = 0.1: r' = 2, and r becomes 1.1.
template <class Exec, class MemorySpace>
void onebit_lamb_ratios(const Exec& exec, const OnebitLambStep& rule, const TensorTiles<MemorySpace>& tiles,
                        const LambTensors<MemorySpace>& tensors, const OnebitLambTensors<MemorySpace>& frozen,
                        const Kokkos::View<const float*, MemorySpace>& x,
                        const Kokkos::View<const float*, MemorySpace>& m,
                        const Kokkos::View<const float*, MemorySpace>& v,
                        const Kokkos::View<const float*, MemorySpace>& fresh) {
  detail::for_each_block("kadam::onebit_lamb_norms", exec, 0, tiles.tile_count(),
                         detail::OnebitLambNorms<MemorySpace>{rule, tiles, tensors.lambda, frozen.partial,
                                                              reads(x), reads(m), reads(v), reads(fresh)});
  detail::for_each_block(
      "kadam::onebit_lamb_ratios", exec, 0, tiles.tensor_count(),
      detail::OnebitLambRatios<MemorySpace>{rule, {tiles, frozen.partial, 3}, tensors.lambda, frozen.ratio});
}

/// x <- x - gamma r c u. Memory: reads x, m, v, writes x: 16 B per element.
template <class Exec, class MemorySpace>
void onebit_lamb_apply(const Exec& exec, const OnebitLambStep& rule, const TensorTiles<MemorySpace>& tiles,
                       const LambTensors<MemorySpace>& tensors, const OnebitLambTensors<MemorySpace>& frozen,
                       const Kokkos::View<float*, MemorySpace>& x,
                       const Kokkos::View<const float*, MemorySpace>& m,
                       const Kokkos::View<const float*, MemorySpace>& v) {
  detail::for_each_block(
      "kadam::onebit_lamb_apply", exec, 0, tiles.tile_count(),
      detail::OnebitLambApply<MemorySpace>{rule, tiles, tensors, frozen, updates(x), reads(m), reads(v)});
}

}  // namespace kadam
