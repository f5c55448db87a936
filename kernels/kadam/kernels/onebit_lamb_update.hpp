// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/coded_vector.hpp>
#include <kadam/kernels/lamb_update.hpp>
#include <kadam/kernels/segments.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <limits>

/// The compressed phase of 1-bit LAMB (Li et al. 2022), per tile and per tensor.
namespace kadam {

/// The numbers of each tensor after the freeze.
template <class MemorySpace>
struct OnebitLambTensors {
  Kokkos::View<float*, MemorySpace> momentum_scale;  ///< sigma: brings all tensors to one size on the wire
  Kokkos::View<float*, MemorySpace> trust_ratio;     ///< c, averaged in the warm-up
  Kokkos::View<float*, MemorySpace> ratio;           ///< r, between frozen and fresh variance
  Kokkos::View<double*, MemorySpace> partial;        ///< three per tile, written by the kernels that sum
  Kokkos::View<std::uint8_t*, MemorySpace> is_kept;  ///< 1 for tensors kept dense
};

/// The fresh variance: g' = (m' - beta1 m) / (1 - beta1); w <- ema(w, g'^2, beta2).
struct FreshVariance {
  Ema second;
  float beta1 = 0.0F;
  float inverse_rest = 1.0F;  ///< 1 / (1 - beta1)

  [[nodiscard]] static FreshVariance make(double beta1, double beta2) {
    return {Ema::make(beta2), static_cast<float>(beta1), static_cast<float>(1.0 / (1.0 - beta1))};
  }
  /// Returns the new w. m, m_new: the momentum before and after the step.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(float w, float m, float m_new) const {
    const float g = (m_new - beta1 * m) * inverse_rest;
    return second(w, g * g);
  }
};

/// The rule of a compressed step, the same for all tensors.
struct OnebitLambStep {
  FreshVariance fresh;
  float eps = 0.0F;
  float gamma = 0.0F;
  double ratio_min = 0.5;
  double ratio_max = 4.0;
  double ratio_change = 0.1;
};

/// The momentum before and after the exchange of a compressed step.
///
/// `after` is the message of this exchange, `before` that of the exchange before: two times bits/8 bytes per
/// element where two vectors of floats would be 8. The first exchange, also after a restart with other ranks
/// or options, has no message before it: `before` is then empty, and m holds the momentum. For tensors kept
/// dense m always holds the momentum after the step.
template <Quantiser Q, class MemorySpace>
struct OnebitLambMomentum {
  CodedVector<Q, MemorySpace> after;          ///< sigma m'
  ConstWords<MemorySpace> before;             ///< sigma m, in the same layout; may be empty
  Kokkos::View<const float*, MemorySpace> m;  ///< see above

  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool has_message_before() const { return before.extent(0) > 0; }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION CodedVector<Q, MemorySpace> vector_before() const {
    return {after.quantiser, after.map, before};
  }
};

/// y = sigma ema(m, g, beta1), a rule of OfNumbers: sigma m is an element of the last message.
struct ScaledMomentum {
  Ema first;
  float gradient_scale;

  struct Scale {
    float sigma;
    float inverse;
  };
  KOKKOS_FORCEINLINE_FUNCTION float operator()(const float g, const std::int64_t /*i*/, const float said,
                                               const Scale& scale) const {
    return scale.sigma * first.unflushed(said * scale.inverse, gradient_scale * g);
  }
};

/// The scale of each tensor, for a BySegment whose segments are tensors. Shape: sigma > 0.
template <class MemorySpace>
struct MomentumScaleOf {
  Kokkos::View<const float*, MemorySpace> sigma;
  KOKKOS_FORCEINLINE_FUNCTION ScaledMomentum::Scale operator()(std::int64_t tensor,
                                                               const SegmentFactors& /*factors*/) const {
    return {sigma(tensor), 1.0F / sigma(tensor)};
  }
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
        target(i) += sigma * first.unflushed(m(i), gradient_scale * to_float(numbers(i)));
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
      double sums[2] = {squared, active};
      member.sum_all_of_threads(sums);
      squared = sums[0];
      active = sums[1];
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

/// Room for a part of a momentum that is decoded: for one thread of a CPU.
template <Quantiser Q, class MemorySpace>
class PartOfMomentum {
 public:
  /// Reads `count` elements from `first` on, which lie in one tensor, and multiplies them by factor.
  KOKKOS_FORCEINLINE_FUNCTION const float* decode(const HostBlockMember& member,
                                                  const CodedVector<Q, MemorySpace>& vector,
                                                  std::int64_t first, std::int64_t count, float factor) {
    float* const out = room_ + CodedVector<Q, MemorySpace>::lead;
    vector.decode(member, first, first + count, factor, out);
    return out;
  }

 private:
  float room_[CodedVector<Q, MemorySpace>::lead + tile_elements];
};

/// w <- its average, and each tile's shares of |p|^2, |u|^2 and the largest ratio of roots.
template <Quantiser Q, class MemorySpace>
struct OnebitLambNorms {
  OnebitLambStep rule;
  TensorTiles<MemorySpace> tiles;
  Kokkos::View<const float*, MemorySpace> lambda;
  OnebitLambTensors<MemorySpace> frozen;
  OnebitLambMomentum<Q, MemorySpace> momentum;
  Kokkos::View<const float*, MemorySpace> x;
  Kokkos::View<const float*, MemorySpace> v;
  Kokkos::View<float*, MemorySpace> fresh;

  /// By one thread, part by part in cache.
  KOKKOS_FUNCTION void operator()(const HostBlockMember& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    const float decay = lambda(tile.tensor);
    NormsOfThread norms;
    member.for_each_part(tile.end - tile.begin, [&](const std::int64_t in_tile, const std::int64_t count) {
      const std::int64_t first = tile.begin + in_tile;
      prefetch_next(first + count, count, decay > 0.0F);
      if (decay > 0.0F) {  // else nobody asks for the norms
        take_part<true>(member, tile.tensor, decay, first, count, norms);
      } else {
        take_part<false>(member, tile.tensor, decay, first, count, norms);
      }
    });
    write(index, {norms.of_p.value(member), norms.of_u.value(member), norms.of_inverse_ratio.value(member)});
  }

  /// By a team, element by element.
  template <class Team>
  KOKKOS_FUNCTION void operator()(const TeamBlockMember<Team>& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    const float decay = lambda(tile.tensor);
    const float inverse_sigma = 1.0F / frozen.momentum_scale(tile.tensor);
    const bool is_kept = frozen.is_kept(tile.tensor) != 0;
    const bool is_decoded = !is_kept && momentum.has_message_before();
    Shares shares;
    momentum.after.for_each_block_in(
        tile.begin, tile.end,
        [&](const BlockMap::Block& block, const std::int64_t first, const std::int64_t last) {
          const auto after = momentum.after.part(block);
          const auto before = is_decoded ? momentum.vector_before().part(block) : after;
          const auto load = [&](const std::int64_t k) -> Loaded {
            const std::int64_t i = first + k;
            const float m_i = is_decoded ? inverse_sigma * before(i) : momentum.m(i);
            return {
                i, decay > 0.0F ? x(i) : 0.0F, v(i), fresh(i), m_i, is_kept ? m_i : inverse_sigma * after(i)};
          };
          const auto add = [&](Shares so_far, const Loaded& at) {
            float w = at.w;
            if (!is_kept && at.v > 0.0F) {
              w = rule.fresh(w, at.m, at.m_new);
              fresh(at.i) = w;
            }
            const RootOfVariance root(at.v, rule.eps);
            if (decay > 0.0F) {  // else nobody asks for the norms
              const float p = root.direction(at.m_new);
              const auto u = static_cast<double>(p + decay * at.x);
              so_far.p_squared += static_cast<double>(p) * static_cast<double>(p);
              so_far.u_squared += u * u;
            }
            so_far.least = Kokkos::min(so_far.least, root.inverse_ratio(w, rule.eps));
            return so_far;
          };
          shares = member.template fold<at_a_time>(shares, last - first, load, add);
        });
    double squares[2] = {shares.p_squared, shares.u_squared};
    member.sum_all_of_threads(squares);
    shares.p_squared = squares[0];
    shares.u_squared = squares[1];
    shares.least = 1.0F / member.max_of_threads(1.0F / shares.least);
    member.once([&] { write(index, shares); });
  }

 private:
  static constexpr int at_a_time = 4;
  static constexpr float infinity = std::numeric_limits<float>::infinity();

  struct Shares {
    double p_squared = 0.0;
    double u_squared = 0.0;
    float least = infinity;  ///< of the inverse ratios
  };
  struct Loaded {
    std::int64_t i;
    float x;
    float v;
    float w;
    float m;
    float m_new;
  };

  /// 1 / (sqrt(v) + eps), 0 where the element is not active: one division where the norms and the ratio would
  /// take two. A choice of values, not of branches: it vectorises.
  struct RootOfVariance {
    float inverse;
    KOKKOS_FORCEINLINE_FUNCTION RootOfVariance(float v, float eps) {
      const float of_active = 1.0F / (Kokkos::sqrt(v) + eps);
      inverse = v > 0.0F ? of_active : 0.0F;
    }
    /// p
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float direction(float m) const { return m * inverse; }
    /// (sqrt(w) + eps) / (sqrt(v) + eps), infinity where the element is not active.
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float inverse_ratio(float w, float eps) const {
      const float of_active = (Kokkos::sqrt(w) + eps) * inverse;
      return inverse > 0.0F ? of_active : float{infinity};
    }
  };

  /// Prefetches `count` elements from `first` on, if there are as many.
  KOKKOS_FORCEINLINE_FUNCTION void prefetch_next(std::int64_t first, std::int64_t count, bool reads_x) const {
    if (first + count > static_cast<std::int64_t>(v.extent(0))) return;
    prefetch_stream(v.data() + first, count);
    prefetch_stream(fresh.data() + first, count);
    if (reads_x) prefetch_stream(x.data() + first, count);
  }

  struct NormsOfThread {
    HostBlockMember::Sum of_p;
    HostBlockMember::Sum of_u;
    HostBlockMember::Min of_inverse_ratio;
  };

  /// Adds `count` elements from `first` on to the norms; w <- its average. One loop for roots, divisions and
  /// sums: the sums are taken while the roots are under way.
  template <bool has_decay>
  KOKKOS_FORCEINLINE_FUNCTION void take_part(const HostBlockMember& member, std::int64_t tensor, float decay,
                                             std::int64_t first, std::int64_t count,
                                             NormsOfThread& norms) const {
    const float* const v_of_part = v.data() + first;
    const float* const x_of_part = x.data() + first;
    float* const w = fresh.data() + first;
    const OnebitLambStep known = rule;
    double* const p_squared = norms.of_p.partial;
    double* const u_squared = norms.of_u.partial;
    float inverse_ratio[tile_elements];
    const auto finish = [=, &inverse_ratio](const std::int64_t k, const int lane, const float m_new,
                                            const float w_k) {
      const RootOfVariance root(v_of_part[k], known.eps);
      inverse_ratio[k] = root.inverse_ratio(w_k, known.eps);
      if constexpr (has_decay) {
        const float p = root.direction(m_new);
        const auto u = static_cast<double>(p + decay * x_of_part[k]);
        p_squared[lane] += static_cast<double>(p) * static_cast<double>(p);
        u_squared[lane] += u * u;
      }
    };
    if (frozen.is_kept(tensor) != 0) {
      const float* const m = momentum.m.data() + first;
      member.for_each_in_lanes(count,
                               [=](const std::int64_t k, const int lane) { finish(k, lane, m[k], w[k]); });
    } else {
      const float inverse_sigma = 1.0F / frozen.momentum_scale(tensor);
      PartOfMomentum<Q, MemorySpace> after;
      PartOfMomentum<Q, MemorySpace> before;
      const float* const m_new = after.decode(member, momentum.after, first, count, inverse_sigma);
      const float* const m = momentum.has_message_before() ? before.decode(member, momentum.vector_before(),
                                                                           first, count, inverse_sigma)
                                                           : momentum.m.data() + first;
      member.for_each_in_lanes(count, [=](const std::int64_t k, const int lane) {
        const float w_new = known.fresh(w[k], m[k], m_new[k]);
        w[k] = v_of_part[k] > 0.0F ? w_new : w[k];
        finish(k, lane, m_new[k], w_new);
      });
    }
    norms.of_inverse_ratio.add(member, count, [&](const std::int64_t k) { return inverse_ratio[k]; });
  }

  KOKKOS_FORCEINLINE_FUNCTION void write(std::int64_t index, const Shares& shares) const {
    frozen.partial(3 * index) = shares.p_squared;
    frozen.partial(3 * index + 1) = shares.u_squared;
    frozen.partial(3 * index + 2) = static_cast<double>(1.0F / shares.least);
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

template <Quantiser Q, class MemorySpace>
struct OnebitLambApply {
  OnebitLambStep rule;
  TensorTiles<MemorySpace> tiles;
  LambTensors<MemorySpace> tensors;
  OnebitLambTensors<MemorySpace> frozen;
  OnebitLambMomentum<Q, MemorySpace> momentum;
  Kokkos::View<float*, MemorySpace> x;
  Kokkos::View<const float*, MemorySpace> v;

  KOKKOS_FUNCTION void operator()(const HostBlockMember& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    const ApplyToTensor apply = of_tensor(tile.tensor);
    const float inverse_sigma = 1.0F / frozen.momentum_scale(tile.tensor);
    member.for_each_part(tile.end - tile.begin, [&](const std::int64_t in_tile, const std::int64_t count) {
      const std::int64_t first = tile.begin + in_tile;
      float* const x_of_part = x.data() + first;
      const float* const v_of_part = v.data() + first;
      PartOfMomentum<Q, MemorySpace> after;
      const float* const m = frozen.is_kept(tile.tensor) != 0
                                 ? momentum.m.data() + first
                                 : after.decode(member, momentum.after, first, count, inverse_sigma);
      member.for_each(count,
                      [=](const std::int64_t k) { x_of_part[k] = apply(x_of_part[k], m[k], v_of_part[k]); });
    });
  }

  template <class Team>
  KOKKOS_FUNCTION void operator()(const TeamBlockMember<Team>& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    const ApplyToTensor apply = of_tensor(tile.tensor);
    const float inverse_sigma = 1.0F / frozen.momentum_scale(tile.tensor);
    const bool is_kept = frozen.is_kept(tile.tensor) != 0;
    momentum.after.for_each_block_in(
        tile.begin, tile.end,
        [&](const BlockMap::Block& block, const std::int64_t first, const std::int64_t last) {
          const auto after = momentum.after.part(block);
          const auto load = [&](const std::int64_t i) -> Loaded {
            return {x(i), is_kept ? momentum.m(i) : inverse_sigma * after(i), v(i)};
          };
          member.for_each_loaded(first, last, load, [&](const std::int64_t i, const Loaded& at) {
            x(i) = apply(at.x, at.m, at.v);
          });
        });
  }

 private:
  struct Loaded {
    float x;
    float m;
    float v;
  };
  /// x <- x - step (p + decay x), p = 0 where the element is not active.
  struct ApplyToTensor {
    float step;
    float decay;
    float eps;
    [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float operator()(float x_i, float m_i, float v_i) const {
      const float p = m_i / (Kokkos::sqrt(v_i) + eps);
      return x_i - step * ((v_i > 0.0F ? p : 0.0F) + decay * x_i);
    }
  };
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION ApplyToTensor of_tensor(std::int64_t tensor) const {
    return {rule.gamma * tensors.lr_scale(tensor) * frozen.ratio(tensor) * frozen.trust_ratio(tensor),
            tensors.lambda(tensor), rule.eps};
  }
};

}  // namespace detail

/// target += sigma ema(m, g, beta1), with the sigma of each tensor: the input of the first exchange.
/// Memory: 16 B per element; 14 B for a gradient of 16 bits.
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

/// Writes for each tile the sum of m^2 and the number of elements with v > 0, the first two of three numbers
/// in `partial`. Memory: 8 B per element.
template <class Exec, class MemorySpace>
void momentum_norms(const Exec& exec, const TensorTiles<MemorySpace>& tiles,
                    const Kokkos::View<const float*, MemorySpace>& m,
                    const Kokkos::View<const float*, MemorySpace>& v,
                    const Kokkos::View<double*, MemorySpace>& partial) {
  detail::for_each_block("kadam::momentum_norms", exec, 0, tiles.tile_count(),
                         detail::MomentumNorms<MemorySpace>{tiles, reads(m), reads(v), partial});
}

/// Updates w and the ratio r of each tensor: w <- FreshVariance of its active elements, then
/// r <- clip(clip(r', ratio_min, ratio_max), (1 - change) r, (1 + change) r), with r' the largest
/// (sqrt(v) + eps) / (sqrt(w) + eps) of its active elements (1 if there are none). With weight decay
/// r' <- r' q + 1 - q, q = min(1, |p| / |u|), p = m' / (sqrt(v) + eps), u = p + lambda x. Elements with v = 0
/// are not active: p = 0. The caller has updated w of tensors kept dense.
///
/// Memory: reads x, v, w and both messages, writes w: 16 B + 2 x bits/8 per element; 4 B less in tensors
/// without weight decay. The first exchange reads m in place of the message before. Worked number: v = 4, w =
/// 1, eps = lambda = 0, r = 1, change = 0.1: r' = 2, and r becomes 1.1.
template <class Exec, Quantiser Q, class MemorySpace>
void onebit_lamb_ratios(const Exec& exec, const OnebitLambStep& rule, const TensorTiles<MemorySpace>& tiles,
                        const LambTensors<MemorySpace>& tensors, const OnebitLambTensors<MemorySpace>& frozen,
                        const OnebitLambMomentum<Q, MemorySpace>& momentum,
                        const Kokkos::View<const float*, MemorySpace>& x,
                        const Kokkos::View<const float*, MemorySpace>& v,
                        const Kokkos::View<float*, MemorySpace>& fresh) {
  detail::for_each_block(
      "kadam::onebit_lamb_norms", exec, 0, tiles.tile_count(),
      detail::OnebitLambNorms<Q, MemorySpace>{rule, tiles, tensors.lambda, frozen, momentum, x, v, fresh});
  detail::for_each_block(
      "kadam::onebit_lamb_ratios", exec, 0, tiles.tensor_count(),
      detail::OnebitLambRatios<MemorySpace>{rule, {tiles, frozen.partial, 3}, tensors.lambda, frozen.ratio});
}

/// x <- x - gamma lr_scale r c u, with the lr_scale of each tensor and u as in onebit_lamb_ratios(). Memory:
/// reads x, v and the message, writes x: 12 B + bits/8 per element.
template <class Exec, Quantiser Q, class MemorySpace>
void onebit_lamb_apply(const Exec& exec, const OnebitLambStep& rule, const TensorTiles<MemorySpace>& tiles,
                       const LambTensors<MemorySpace>& tensors, const OnebitLambTensors<MemorySpace>& frozen,
                       const OnebitLambMomentum<Q, MemorySpace>& momentum,
                       const Kokkos::View<float*, MemorySpace>& x,
                       const Kokkos::View<const float*, MemorySpace>& v) {
  detail::for_each_block(
      "kadam::onebit_lamb_apply", exec, 0, tiles.tile_count(),
      detail::OnebitLambApply<Q, MemorySpace>{rule, tiles, tensors, frozen, momentum, x, v});
}

}  // namespace kadam
