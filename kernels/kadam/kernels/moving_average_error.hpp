// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/block_coder.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

/// Error feedback whose error is a moving average and is kept in 8 bits per element (LoCo, Xie et al. 2024).
namespace kadam {

/// An error in 8 bits per element and one float32 step per scale block; zero when all steps are 0.
/// Memory: d + 4 d/B bytes.
template <class MemorySpace>
struct ByteError {
  Kokkos::View<std::uint8_t*, MemorySpace> codes;
  Kokkos::View<float*, MemorySpace> steps;  ///< one per block of the BlockMap
};

namespace detail {

template <Quantiser Q, class MemorySpace>
struct EncodeWithMovingAverageError {
  using ErrorCode = UniformQuantiser<8>;

  Q quantiser;
  BlockMap map;
  Kokkos::View<const float*, MemorySpace> gradient;
  float gradient_scale;
  ActiveMask<MemorySpace> active;
  ByteError<MemorySpace> error;
  Ema average;
  Words<MemorySpace> message;

  /// h = g + e of one element, and what is sent for it.
  struct Element {
    float h;
    float e;
    std::uint32_t code;
    float sent;
  };

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    const float old_step = error.steps(index);
    const float largest = member.max(block.elements, [&](const std::int64_t k) {
      return Kokkos::fabs(compensated(block.first_element + k, old_step));
    });
    const float scale = quantiser.scale(static_cast<double>(largest), block.elements);
    const float largest_error = member.max(block.elements, [&](const std::int64_t k) {
      return Kokkos::fabs(next_error(element(block.first_element + k, old_step, scale)));
    });
    const float new_step = ErrorCode{}.scale(static_cast<double>(largest_error), block.elements);
    pack(member, block, old_step, scale, new_step);
    member.once([&] {
      message(block.scale_word) = Kokkos::bit_cast<std::uint32_t>(scale);
      error.steps(index) = new_step;
    });
  }

 private:
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float stored(const std::int64_t i, float step) const {
    return ErrorCode{}.decode(error.codes(i), step);
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float compensated(const std::int64_t i, float step) const {
    return active(i) ? gradient_scale * gradient(i) + stored(i, step) : 0.0F;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Element element(const std::int64_t i, float old_step,
                                                            float scale) const {
    const float h = compensated(i, old_step);
    const std::uint32_t code = quantiser.encode(h, scale);
    return {h, active(i) ? stored(i, old_step) : 0.0F, code, quantiser.decode(code, scale)};
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float next_error(const Element& element) const {
    return average(element.e, element.h - element.sent);
  }

  /// Each element is computed again instead of being stored: a block lies in cache, and there is no scratch.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void pack(const Member& member, const BlockMap::Block& block, float old_step,
                                        float scale, float new_step) const {
    constexpr std::int64_t width = elements_per_word<Q>;
    member.for_each((block.elements + width - 1) / width, [&](const std::int64_t w) {
      const std::int64_t first = block.first_element + w * width;
      std::uint32_t word = 0;
      with_count<width>(block.elements - w * width, [&](const std::int64_t count) {
        for (std::int64_t k = 0; k < count; ++k) {
          const Element each = element(first + k, old_step, scale);
          word |= each.code << static_cast<unsigned>(k * Q::bits);
          error.codes(first + k) = static_cast<std::uint8_t>(ErrorCode{}.encode(next_error(each), new_step));
        }
      });
      message(block.first_word + w) = word;
    });
  }
};

template <Quantiser Q, class MemorySpace>
struct MeanOfBlock {
  MeanOfMessages<Q, MemorySpace> source;
  BlockMap map;
  Kokkos::View<float*, MemorySpace> out;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    member.for_each(block.elements, [&](const std::int64_t k) { out(block.first_element + k) = 0.0F; });
    source.compensate(member, block, out, [](const std::int64_t, const std::int64_t) {});
  }
};

}  // namespace detail

/// h = g + e;  q = C(h);  e <- C8(beta_e e + (1 - beta_e)(h - q)): message <- code of q, per scale block.
///
/// average: Ema::make(beta_e). An inactive element is sent as 0 and keeps no error. C8: 8 bits with the
/// largest magnitude of the same block, because a fixed step has a dead zone.
/// Shape: error has map.elements codes and map.blocks steps. Memory: reads g and e, writes e: 6 B + bits/8
/// per element, a block at a time. Deterministic: independent of the number of threads.
template <class Exec, int Bits, class MemorySpace>
void encode_with_moving_average_error(const Exec& exec, const UniformQuantiser<Bits>& quantiser,
                                      const detail::BlockMap& map,
                                      const Kokkos::View<const float*, MemorySpace>& gradient,
                                      float gradient_scale, const ActiveMask<MemorySpace>& active,
                                      const ByteError<MemorySpace>& error, const Ema& average,
                                      const Words<MemorySpace>& message) {
  detail::for_each_block("kadam::encode_with_moving_average_error", exec, 0, map.blocks,
                         detail::EncodeWithMovingAverageError<UniformQuantiser<Bits>, MemorySpace>{
                             quantiser, map, gradient, gradient_scale, active, error, average, message});
}

/// out(i) = (1/n) sum_r decode(message r, i), in rank order, for the elements of one chunk.
///
/// Shape: messages holds n messages of this chunk, stride_words apart; map describes the one chunk.
/// Memory: n bits/8 + 4 B per element.
template <class Exec, Quantiser Q, class MemorySpace>
void decode_mean(const Exec& exec, const Q& quantiser, const detail::BlockMap& map,
                 const ConstWords<MemorySpace>& messages, int ranks, std::int64_t stride_words,
                 const Kokkos::View<float*, MemorySpace>& out) {
  using Source = detail::MeanOfMessages<Q, MemorySpace>;
  const Source source{quantiser, messages, ranks, stride_words, static_cast<float>(1.0 / ranks)};
  detail::for_each_block("kadam::decode_mean", exec, 0, map.blocks,
                         detail::MeanOfBlock<Q, MemorySpace>{source, map, out});
}

}  // namespace kadam
