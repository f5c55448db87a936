// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/block_coder.hpp>
#include <kadam/kernels/numbers.hpp>

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
  Numbers<MemorySpace> gradient;
  float gradient_scale;
  ActiveMask<MemorySpace> active;
  ByteError<MemorySpace> error;
  Ema average;
  Words<MemorySpace> message;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    gradient.with_format([&](const auto& numbers) {
      const auto encode = [&](const auto& is_active) {
        encode_block(member, block, index,
                     Inputs<decltype(is_active), decltype(numbers)>{is_active, numbers});
      };
      // Nearly all blocks are: without a look at the mask for each element.
      if (Member::is_one_thread ? active.all_active_in(block.first_element, block.elements)
                                : active.all_active()) {
        encode([](const std::int64_t) { return true; });
      } else {
        encode(active);
      }
    });
  }

 private:
  /// Which elements take part, and their gradients.
  template <class IsActive, class Elements>
  struct Inputs {
    const IsActive& is_active;
    const Elements& gradient;
  };

  /// h = g + e of one element, e, and what is sent for it.
  struct Element {
    float h;
    float e;
    std::uint32_t code;
    float sent;
  };

  template <class Member, class Input>
  KOKKOS_FORCEINLINE_FUNCTION void encode_block(const Member& member, const BlockMap::Block& block,
                                                const std::int64_t index, const Input& input) const {
    const float old_step = error.steps(index);
    const float largest = member.max(block.elements, [&](const std::int64_t k) {
      return Kokkos::fabs(compensated(input, block.first_element + k, old_step));
    });
    const float scale = quantiser.scale(static_cast<double>(largest), block.elements);
    const auto element_at = [&](const std::int64_t k) {
      return element(input, block.first_element + k, old_step, scale);
    };
    const float largest_error = member.max(
        block.elements, [&](const std::int64_t k) { return Kokkos::fabs(next_error(element_at(k))); });
    const float new_step = ErrorCode{}.scale(static_cast<double>(largest_error), block.elements);
    pack(member, block, element_at, new_step);
    member.once([&] {
      message(block.scale_word) = Kokkos::bit_cast<std::uint32_t>(scale);
      error.steps(index) = new_step;
    });
  }

  template <class Input>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float compensated(const Input& input, const std::int64_t i,
                                                              float step) const {
    const float h = gradient_scale * to_float(input.gradient(i)) + stored(i, step);
    return input.is_active(i) ? h : 0.0F;
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float stored(const std::int64_t i, float step) const {
    return ErrorCode{}.decode(error.codes(i), step);
  }
  template <class Input>
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION Element element(const Input& input, const std::int64_t i,
                                                            float old_step, float scale) const {
    const float h = compensated(input, i, old_step);
    const std::uint32_t code = quantiser.encode(h, scale);
    return {h, input.is_active(i) ? stored(i, old_step) : 0.0F, code, quantiser.decode(code, scale)};
  }
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION float next_error(const Element& element) const {
    return average(element.e, element.h - element.sent);
  }

  /// Each element is computed again instead of being stored: a block lies in cache, and there is no scratch.
  template <class Member, class ElementAt>
  KOKKOS_FORCEINLINE_FUNCTION void pack(const Member& member, const BlockMap::Block& block,
                                        const ElementAt& element_at, float new_step) const {
    const auto code_of_error = [&](const Element& each) {
      return static_cast<std::uint8_t>(ErrorCode{}.encode(next_error(each), new_step));
    };
    constexpr std::int64_t width = elements_per_word<Q>;
    if constexpr (Member::is_one_thread) {
      member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
        unsigned char codes[tile_elements] = {};
        std::uint8_t* const KOKKOS_RESTRICT of_errors = &error.codes(block.first_element + in_block);
        member.for_each(count, [&](const std::int64_t k) {
          const Element each = element_at(in_block + k);
          codes[k] = static_cast<unsigned char>(each.code);
          of_errors[k] = code_of_error(each);
        });
        pack_codes<Q::bits>(4 * ((count + width - 1) / width), codes,
                            reinterpret_cast<unsigned char*>(&message(block.first_word + in_block / width)));
      });
    } else {
      member.for_each((block.elements + width - 1) / width, [&](const std::int64_t w) {
        std::uint32_t word = 0;
        with_count<width>(block.elements - w * width, [&](const std::int64_t count) {
          for (std::int64_t e = 0; e < count; ++e) {
            const Element each = element_at(w * width + e);
            word |= each.code << static_cast<unsigned>(e * Q::bits);
            error.codes(block.first_element + w * width + e) = code_of_error(each);
          }
        });
        message(block.first_word + w) = word;
      });
    }
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
                                      const detail::BlockMap& map, const Numbers<MemorySpace>& gradient,
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
