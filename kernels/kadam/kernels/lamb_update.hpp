// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/kernels/on_device.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <type_traits>
#include <vector>

namespace kadam {

/// The tiles of all tensors of a flat vector: sums over a tensor are parallel and have a fixed order.
/// Memory: 24 B per tile, 8 B per tensor.
template <class MemorySpace>
struct TensorTiles {
  /// CPU: four float arrays of a tile fit in a core's cache. GPU: a long tile has few barriers per element.
  static constexpr std::int64_t tile_elements =
      detail::one_thread_per_block<typename MemorySpace::execution_space> ? 1024 : 8192;

  struct Tile {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t tensor;
  };

  Kokkos::View<Tile*, MemorySpace> tiles;
  Kokkos::View<std::int64_t*, MemorySpace> first_tile;  ///< of each tensor, and one past the last

  [[nodiscard]] std::int64_t tile_count() const { return static_cast<std::int64_t>(tiles.extent(0)); }
  [[nodiscard]] std::int64_t tensor_count() const {
    return static_cast<std::int64_t>(first_tile.extent(0)) - 1;
  }

  /// Returns the number of tiles of the tensors between these boundaries.
  [[nodiscard]] static std::int64_t count(const std::vector<std::int64_t>& boundaries) {
    std::int64_t tiles = 0;
    for (std::size_t tensor = 0; tensor + 1 < boundaries.size(); ++tensor)
      tiles += (boundaries[tensor + 1] - boundaries[tensor] + tile_elements - 1) / tile_elements;
    return tiles;
  }
  [[nodiscard]] static std::size_t memory_bytes(std::size_t tiles, std::size_t tensors) {
    return tiles * sizeof(Tile) + (tensors + 1) * sizeof(std::int64_t);
  }

  /// boundaries: the first element of each tensor, and d. Waits for its copies.
  static TensorTiles make(const std::vector<std::int64_t>& boundaries) {
    std::vector<Tile> list;
    std::vector<std::int64_t> first;
    for (std::size_t tensor = 0; tensor + 1 < boundaries.size(); ++tensor) {
      first.push_back(static_cast<std::int64_t>(list.size()));
      for (std::int64_t begin = boundaries[tensor]; begin < boundaries[tensor + 1]; begin += tile_elements) {
        list.push_back({begin, Kokkos::min(begin + tile_elements, boundaries[tensor + 1]),
                        static_cast<std::int64_t>(tensor)});
      }
    }
    first.push_back(static_cast<std::int64_t>(list.size()));
    return {on_device<MemorySpace>("kadam::TensorTiles::tiles", list),
            on_device<MemorySpace>("kadam::TensorTiles::first_tile", first)};
  }
};

/// The rule of a LAMB step for one coordinate, without the trust ratio of its tensor.
struct LambStep {
  Ema first;
  Ema second;
  float gradient_scale = 1.0F;
  float inverse_c1 = 1.0F;
  float inverse_c2 = 1.0F;
  float eps = 0.0F;
  float gamma = 0.0F;

  /// u = (m/c1) / (sqrt(v/c2) + eps) + lambda x
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float direction(float x, float m, float v, float lambda) const {
    return m * inverse_c1 / (Kokkos::sqrt(v * inverse_c2) + eps) + lambda * x;
  }
};

/// The numbers of each tensor: factor on the learning rate, weight decay, and the results of the kernels.
template <class MemorySpace>
struct LambTensors {
  Kokkos::View<float*, MemorySpace> lr_scale;
  Kokkos::View<float*, MemorySpace> lambda;
  Kokkos::View<float*, MemorySpace> trust_ratio;  ///< phi, written by lamb_trust_ratios
  Kokkos::View<double*, MemorySpace> partial;     ///< two per tile: sum x^2, then sum u^2
};

namespace detail {

/// G: const T for a gradient that is only read, float for one whose place u takes.
template <class G, class MemorySpace>
struct LambMoments {
  LambStep rule;
  TensorTiles<MemorySpace> tiles;
  LambTensors<MemorySpace> tensors;
  ElementArray<const float, true> x;
  ElementArray<float, true> m;
  ElementArray<float, true> v;
  ElementArray<G, true> gradient;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    const float lambda = tensors.lambda(tile.tensor);
    // m and v of an element, and its u^2. A copy of the rule: for the compiler, a store of a float might
    // change the rule itself.
    const auto step = [lambda, known = rule](const float& x_i, float& m_i, float& v_i, G& gradient_i) {
      const float g = known.gradient_scale * to_float(gradient_i);
      const float m_new = known.first(m_i, g);
      const float v_new = known.second(v_i, g * g);
      m_i = m_new;
      v_i = v_new;
      const float u = known.direction(x_i, m_new, v_new, lambda);
      if constexpr (!std::is_const_v<G>) gradient_i = u;
      return square(u);
    };
    double x_squared = 0.0;
    double u_squared = 0.0;
    if constexpr (Member::is_one_thread) {
      HostBlockMember::Sum of_x;
      HostBlockMember::Sum of_u;
      member.for_each_part(tile.end - tile.begin, [&](const std::int64_t in_tile, const std::int64_t length) {
        const std::int64_t first = tile.begin + in_tile;
        of_u.add(member, length, [&](const std::int64_t k) {
          const std::int64_t i = first + k;
          return step(x.data[i], m.data[i], v.data[i], gradient.data[i]);
        });
        of_x.add(member, length, [&](const std::int64_t k) { return square(x.data[first + k]); });
      });
      x_squared = of_x.value(member);
      u_squared = of_u.value(member);
    } else {
      const auto add = [&](const float& x_i, float& m_i, float& v_i, G& gradient_i) {
        u_squared += step(x_i, m_i, v_i, gradient_i);
        x_squared += square(x_i);
      };
      for_each_element_of(member, tile.begin, tile.end, add, x, m, v, gradient);
      double sums[2] = {x_squared, u_squared};
      member.sum_all_of_threads(sums);
      x_squared = sums[0];
      u_squared = sums[1];
    }
    member.once([&] {
      tensors.partial(2 * index) = x_squared;
      tensors.partial(2 * index + 1) = u_squared;
    });
  }

 private:
  [[nodiscard]] static KOKKOS_FORCEINLINE_FUNCTION double square(float value) {
    return static_cast<double>(value) * static_cast<double>(value);
  }
};

}  // namespace detail

/// Updates m and v, and writes the shares of each tile in |x|^2 and |u|^2 into tensors.partial: the first
/// pass of LAMB.
/// Memory: reads x, m, v, g, writes m, v: 24 B per element; 22 B for a gradient of 16 bits.
template <class Exec, class MemorySpace>
void lamb_moments(const Exec& exec, const LambStep& rule, const TensorTiles<MemorySpace>& tiles,
                  const LambTensors<MemorySpace>& tensors, const Kokkos::View<const float*, MemorySpace>& x,
                  const Kokkos::View<float*, MemorySpace>& m, const Kokkos::View<float*, MemorySpace>& v,
                  const Numbers<MemorySpace>& gradient) {
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& g) {
    detail::for_each_block("kadam::lamb_moments", exec, 0, tiles.tile_count(),
                           detail::LambMoments<const T, MemorySpace>{rule, tiles, tensors, reads(x),
                                                                     updates(m), updates(v), reads(g)});
  });
}

/// The same; also writes u in place of the gradient, for the lamb_apply() that reads u.
/// Memory: reads x, m, v, g, writes m, v, u: 28 B per element.
template <class Exec, class MemorySpace>
void lamb_directions(const Exec& exec, const LambStep& rule, const TensorTiles<MemorySpace>& tiles,
                     const LambTensors<MemorySpace>& tensors,
                     const Kokkos::View<const float*, MemorySpace>& x,
                     const Kokkos::View<float*, MemorySpace>& m, const Kokkos::View<float*, MemorySpace>& v,
                     const Kokkos::View<float*, MemorySpace>& gradient) {
  detail::for_each_block("kadam::lamb_directions", exec, 0, tiles.tile_count(),
                         detail::LambMoments<float, MemorySpace>{rule, tiles, tensors, reads(x), updates(m),
                                                                 updates(v), updates(gradient)});
}

namespace detail {

/// Sums the shares of one tensor's tiles: one thread of a CPU in the order of tiles, a team in another order
/// that is always the same.
template <class MemorySpace>
struct SumOfTiles {
  TensorTiles<MemorySpace> tiles;
  Kokkos::View<const double*, MemorySpace> partial;
  std::int64_t stride;  ///< numbers per tile

  /// The sum of number `which` of each tile.
  KOKKOS_FORCEINLINE_FUNCTION double operator()(const HostBlockMember& /*member*/, std::int64_t tensor,
                                                std::int64_t which) const {
    double sum = 0.0;
    for (std::int64_t tile = tiles.first_tile(tensor); tile < tiles.first_tile(tensor + 1); ++tile) {
      sum += partial(stride * tile + which);
    }
    return sum;
  }
  template <class Team>
  KOKKOS_FORCEINLINE_FUNCTION double operator()(const TeamBlockMember<Team>& member, std::int64_t tensor,
                                                std::int64_t which) const {
    const std::int64_t first = tiles.first_tile(tensor);
    return member.sum(tiles.first_tile(tensor + 1) - first,
                      [&](const std::int64_t k) { return partial(stride * (first + k) + which); });
  }
};

template <class MemorySpace>
struct LambTrustRatios {
  SumOfTiles<MemorySpace> sum;
  Kokkos::View<float*, MemorySpace> trust_ratio;
  double trust_min;
  double trust_max;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t tensor) const {
    const double x_squared = sum(member, tensor, 0);
    const double u_squared = sum(member, tensor, 1);
    member.once([&] {
      const bool defined = x_squared > 0.0 && u_squared > 0.0;
      const double phi = defined ? Kokkos::sqrt(x_squared) / Kokkos::sqrt(u_squared) : 1.0;
      trust_ratio(tensor) = static_cast<float>(Kokkos::clamp(phi, trust_min, trust_max));
    });
  }
};

}  // namespace detail

/// phi = |x| / |u| per tensor (1 if either is 0), clipped to [trust_min, trust_max]; summed in tile order on
/// a CPU, by one team per tensor on a GPU. Memory: 16 B per tile. Worked number: |x| = 2, |u| = 4: phi = 0.5.
template <class Exec, class MemorySpace>
void lamb_trust_ratios(const Exec& exec, const TensorTiles<MemorySpace>& tiles,
                       const LambTensors<MemorySpace>& tensors, double trust_min, double trust_max) {
  detail::for_each_block("kadam::lamb_trust_ratios", exec, 0, tiles.tensor_count(),
                         detail::LambTrustRatios<MemorySpace>{
                             {tiles, tensors.partial, 2}, tensors.trust_ratio, trust_min, trust_max});
}

namespace detail {

/// What x loses of its tensor's u: gamma lr_scale phi.
template <class MemorySpace>
[[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float lamb_step_length(const LambTensors<MemorySpace>& tensors,
                                                                 float gamma, std::int64_t tensor) {
  return gamma * tensors.lr_scale(tensor) * tensors.trust_ratio(tensor);
}

template <class MemorySpace>
struct LambApply {
  LambStep rule;
  TensorTiles<MemorySpace> tiles;
  LambTensors<MemorySpace> tensors;
  ElementArray<float, true> x;
  ElementArray<const float, true> m;
  ElementArray<const float, true> v;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    const float lambda = tensors.lambda(tile.tensor);
    const float step = lamb_step_length(tensors, rule.gamma, tile.tensor);
    // A copy of the rule, as in LambMoments.
    const auto apply = [step, lambda, known = rule](float& x_i, const float& m_i, const float& v_i) {
      x_i -= step * known.direction(x_i, m_i, v_i, lambda);
    };
    for_each_element_of(member, tile.begin, tile.end, apply, x, m, v);
  }
};

template <class MemorySpace>
struct LambApplyDirection {
  float gamma;
  TensorTiles<MemorySpace> tiles;
  LambTensors<MemorySpace> tensors;
  ElementArray<float, true> x;
  ElementArray<const float, true> u;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const auto tile = tiles.tiles(index);
    const float step = lamb_step_length(tensors, gamma, tile.tensor);
    const auto apply = [step](float& x_i, const float& u_i) { x_i -= step * u_i; };
    for_each_element_of(member, tile.begin, tile.end, apply, x, u);
  }
};

}  // namespace detail

/// Second pass of LAMB (You et al. 2020): x <- x - gamma lr_scale phi u, with the lr_scale of the tensor,
/// after lamb_moments(): the direction u is computed again. Memory: reads x, m, v, writes x: 16 B per
/// element.
template <class Exec, class MemorySpace>
void lamb_apply(const Exec& exec, const LambStep& rule, const TensorTiles<MemorySpace>& tiles,
                const LambTensors<MemorySpace>& tensors, const Kokkos::View<float*, MemorySpace>& x,
                const Kokkos::View<const float*, MemorySpace>& m,
                const Kokkos::View<const float*, MemorySpace>& v) {
  detail::for_each_block(
      "kadam::lamb_apply", exec, 0, tiles.tile_count(),
      detail::LambApply<MemorySpace>{rule, tiles, tensors, updates(x), reads(m), reads(v)});
}

/// The same after lamb_directions(), which has written u. Memory: reads x, u, writes x: 12 B per element.
template <class Exec, class MemorySpace>
void lamb_apply(const Exec& exec, const LambStep& rule, const TensorTiles<MemorySpace>& tiles,
                const LambTensors<MemorySpace>& tensors, const Kokkos::View<float*, MemorySpace>& x,
                const Kokkos::View<const float*, MemorySpace>& u) {
  detail::for_each_block(
      "kadam::lamb_apply", exec, 0, tiles.tile_count(),
      detail::LambApplyDirection<MemorySpace>{rule.gamma, tiles, tensors, updates(x), reads(u)});
}

}  // namespace kadam
