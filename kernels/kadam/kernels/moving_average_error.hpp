// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/adam_update.hpp>
#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_tile.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/detail/held_codes.hpp>
#include <kadam/kernels/detail/mean_of_messages.hpp>
#include <kadam/kernels/numbers.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>

/// Error feedback whose error is a moving average and is kept in 8 bits per element (LoCo, Xie et al. 2024).
namespace kadam {

/// An error in 8 bits per element and one float32 step per scale block. Every element is zero when all steps
/// are 0.
/// Memory: 1 B per element, 4 B per block.
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

  /// By one thread, which keeps h and e of a block in the innermost cache: each is computed once. A block
  /// longer than kept_elements does not stay there: its h and e are computed again in each pass.
  KOKKOS_FUNCTION void operator()(const HostBlockMember& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    gradient.with_format([&](const auto& numbers) {
      // Nearly all blocks are active as a whole: these need no look at the mask for each element.
      if (active.all_active_in(block.first_element, block.elements)) {
        encode_block(member, block, index, numbers, [](const std::int64_t) { return true; });
      } else {
        encode_block(member, block, index, numbers, active);
      }
    });
  }

  /// By a team, which holds h and e of a block in registers: memory is read once. A block longer than held()
  /// is read again in each pass.
  template <class Team, class Shape>
  KOKKOS_FUNCTION void operator()(const TeamBlockMember<Team, Shape>& member,
                                  const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    const HeldCodes<Q> codes(member);
    if (block.elements == member.held() && active.all_active()) {
      encode_by_team(member.whole(), block, index, codes);
    } else {
      encode_by_team(member, block, index, codes);
    }
  }

  [[nodiscard]] static int scratch_bytes(int threads) { return HeldCodes<Q>::bytes(threads); }

 private:
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void encode_by_team(const Member& member, const BlockMap::Block& block,
                                                  const std::int64_t index, const HeldCodes<Q>& codes) const {
    const bool is_long = !Member::is_whole && block.elements > member.held();
    const float old_step = error.steps(index);
    float h[Member::held_by_thread];
    float e[Member::held_by_thread];
    float largest = 0.0F;
    member.for_each_round(block.elements, [&](const std::int64_t first) {
      hold(member, block, first, old_step, h, e);
      member.for_each_held(first, block.elements, [&](const int j, const std::int64_t) {
        largest = Kokkos::max(largest, Kokkos::fabs(h[j]));
      });
    });
    const float scale = quantiser.scale(static_cast<double>(member.max_of_threads(largest)), block.elements);
    // Encodes the elements that are held; their new error replaces the old one in e.
    const auto send = [&](const std::int64_t first) {
      if (is_long) hold(member, block, first, old_step, h, e);
      member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
        const std::uint32_t sent = quantiser.encode(h[j], scale);
        codes.put(k - first, sent);
        e[j] = average.unflushed(e[j], h[j] - quantiser.decode(sent, scale));
      });
    };
    float largest_error = 0.0F;
    member.for_each_round(block.elements, [&](const std::int64_t first) {
      send(first);
      member.for_each_held(first, block.elements, [&](const int j, const std::int64_t) {
        largest_error = Kokkos::max(largest_error, Kokkos::fabs(e[j]));
      });
    });
    const float new_step =
        ErrorCode{}.scale(static_cast<double>(member.max_of_threads(largest_error)), block.elements);
    member.for_each_round(block.elements, [&](const std::int64_t first) {
      if (is_long) send(first);
      member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
        error.codes(block.first_element + k) = static_cast<std::uint8_t>(ErrorCode{}.encode(e[j], new_step));
      });
      codes.write(member, Kokkos::min(member.held(), block.elements - first),
                  &message(block.first_word + first / elements_per_word<Q>));
    });
    member.once([&] {
      message(block.scale_word) = Kokkos::bit_cast<std::uint32_t>(scale);
      error.steps(index) = new_step;
    });
  }

  /// Computes h[j] and e[j] of the elements that this thread holds; both are 0 where inactive.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void hold(const Member& member, const BlockMap::Block& block,
                                        std::int64_t first, float old_step, float* h, float* e) const {
    gradient.with_format([&](const auto& numbers) {
      member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
        const std::int64_t i = block.first_element + k;
        const float stored = ErrorCode{}.decode(error.codes(i), old_step);
        const bool takes_part = Member::is_whole || active(i);
        h[j] = takes_part ? gradient_scale * to_float(numbers(i)) + stored : 0.0F;
        e[j] = takes_part ? stored : 0.0F;
      });
    });
  }

  /// Elements whose h, e and codes (9 KiB) stay in the innermost cache. LoCo's blocks have 256.
  static constexpr std::int64_t kept_elements = 1024;

  template <class Elements, class IsActive>
  KOKKOS_FORCEINLINE_FUNCTION void encode_block(const HostBlockMember& member, const BlockMap::Block& block,
                                                const std::int64_t index, const Elements& numbers,
                                                const IsActive& is_active) const {
    // Local copies: for the compiler, a store of bytes might change any member.
    const Q code = quantiser;
    const Ema rule = average;
    const float factor = gradient_scale;
    const std::int64_t begin = block.first_element;
    const float old_step = error.steps(index);
    float h[kept_elements];
    float e[kept_elements];
    unsigned char unpacked[kept_elements];
    // Where the codes of a part go: those of 8 bits into the message, others into a room, from which they are
    // packed.
    const auto place_of_codes = [&](const std::int64_t first) {
      if constexpr (Q::bits < 8) {
        return static_cast<unsigned char*>(unpacked);
      } else {
        return bytes_of_message(block, first);
      }
    };

    // A function(k) that computes h[k] and e[k] of element first + k and returns h[k].
    const auto compensate = [&](const std::int64_t first) {
      const auto* const g = &numbers(first);
      const std::uint8_t* const stored = &error.codes(first);
      return [&, g, stored, first](const std::int64_t k) {
        const float old = ErrorCode{}.decode(stored[k], old_step);
        const bool takes_part = is_active(first + k);
        h[k] = takes_part ? factor * to_float(g[k]) + old : 0.0F;
        e[k] = takes_part ? old : 0.0F;
        return h[k];
      };
    };
    // A function(k) that encodes h[k], and replaces e[k] by the new error and returns it.
    const auto send = [&](const std::int64_t first, const float scale) {
      unsigned char* const codes = place_of_codes(first);
      return [&, codes, scale](const std::int64_t k) {
        const std::uint32_t sent = code.encode(h[k], scale);
        codes[k] = static_cast<unsigned char>(sent);
        e[k] = rule.unflushed(e[k], h[k] - code.decode(sent, scale));
        return e[k];
      };
    };
    const bool is_long = block.elements > kept_elements;
    // function(first element, count) for parts of the block.
    const auto for_parts = [&](const auto& function) {
      for (std::int64_t done = 0; done < block.elements; done += kept_elements) {
        function(begin + done, Kokkos::min(std::int64_t{kept_elements}, block.elements - done));
      }
    };

    // Blocks are short: one block ahead would be too late.
    const std::int64_t soon = begin + 2 * block.elements;
    if (!is_long && soon + block.elements <= map.elements) {
      prefetch(&numbers(soon), block.elements);
      prefetch(&error.codes(soon), block.elements);
    }
    HostBlockMember::Max largest;
    for_parts([&](const std::int64_t first, const std::int64_t count) {
      const auto input = compensate(first);
      largest.add(member, count, [&](const std::int64_t k) { return Kokkos::fabs(input(k)); });
    });
    const float scale = code.scale(static_cast<double>(largest.value(member)), block.elements);
    HostBlockMember::Max largest_error;
    for_parts([&](const std::int64_t first, const std::int64_t count) {
      if (is_long) member.for_each(count, compensate(first));
      const auto new_error = send(first, scale);
      largest_error.add(member, count, [&](const std::int64_t k) { return Kokkos::fabs(new_error(k)); });
    });
    const float new_step =
        ErrorCode{}.scale(static_cast<double>(largest_error.value(member)), block.elements);
    for_parts([&](const std::int64_t first, const std::int64_t count) {
      if (is_long) {
        member.for_each(count, compensate(first));
        member.for_each(count, send(first, scale));
      }
      std::uint8_t* const stored = &error.codes(first);
      member.for_each(count, [&](const std::int64_t k) {
        stored[k] = static_cast<std::uint8_t>(ErrorCode{}.encode(e[k], new_step));
      });
      unsigned char* const codes = place_of_codes(first);
      unsigned char* const bytes = bytes_of_message(block, first);
      member.for_each_part(count, [&](const std::int64_t in_part, const std::int64_t inside) {
        finish_codes<Q>(codes + in_part, inside, bytes + in_part * Q::bits / 8);
      });
    });
    message(block.scale_word) = Kokkos::bit_cast<std::uint32_t>(scale);
    error.steps(index) = new_step;
  }

  /// The bytes of the message that hold the codes of a block from element `first` of the vector on.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION unsigned char* bytes_of_message(const BlockMap::Block& block,
                                                                            std::int64_t first) const {
    const std::int64_t word = block.first_word + (first - block.first_element) / elements_per_word<Q>;
    return reinterpret_cast<unsigned char*>(&message(word));
  }
};

template <class MemorySpace>
struct DecodeByteError {
  BlockMap map;
  ByteError<MemorySpace> error;
  Kokkos::View<float*, MemorySpace> out;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    const float step = error.steps(index);
    member.for_each(block.elements, [&](const std::int64_t k) {
      const std::int64_t i = block.first_element + k;
      out(i) = UniformQuantiser<8>{}.decode(error.codes(i), step);
    });
  }
};

template <class MemorySpace>
struct EncodeByteError {
  BlockMap map;
  Kokkos::View<const float*, MemorySpace> values;
  bool with_its_steps;
  ByteError<MemorySpace> error;

  template <class Member>
  KOKKOS_FUNCTION void operator()(const Member& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    const auto at = [&](const std::int64_t k) { return values(block.first_element + k); };
    const float largest =
        member.max(block.elements, [&](const std::int64_t k) { return Kokkos::fabs(at(k)); });
    const float step = with_its_steps
                           ? error.steps(index)
                           : UniformQuantiser<8>{}.scale(static_cast<double>(largest), block.elements);
    member.for_each(block.elements, [&](const std::int64_t k) {
      error.codes(block.first_element + k) =
          static_cast<std::uint8_t>(UniformQuantiser<8>{}.encode(at(k), step));
    });
    member.once([&] { error.steps(index) = step; });
  }
};

template <Quantiser Q, class MemorySpace>
struct MeanOfBlock {
  MeanOfMessages<Q, MemorySpace> source;
  BlockMap map;
  Kokkos::View<float*, MemorySpace> out;

  KOKKOS_FUNCTION void operator()(const HostBlockMember& member, const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    source.write_mean(member, block, out);
  }
  template <class Team, class Shape>
  KOKKOS_FUNCTION void operator()(const TeamBlockMember<Team, Shape>& member,
                                  const std::int64_t index) const {
    const BlockMap::Block block = map.block(index);
    if (block.elements == member.held()) {
      write(member.whole(), block);
    } else {
      write(member, block);
    }
  }

 private:
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void write(const Member& member, const BlockMap::Block& block) const {
    float held[Member::held_by_thread];
    member.for_each_round(block.elements, [&](const std::int64_t first) {
      source.hold_mean(member, block, first, held);
      member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
        out(block.first_element + k) = held[j];
      });
    });
  }
};

/// for_each_block() with the team that suits the length of the map's blocks: narrow for short ones, as LoCo's
/// are.
template <class Exec, class Function>
void for_each_short_block(const std::string& label, const Exec& exec, const BlockRange& blocks,
                          const Function& function) {
  if (blocks.map.block_elements <= std::int64_t{NarrowTeam::threads} * NarrowTeam::held) {
    for_each_block<NarrowTeam>(label, exec, blocks.first, blocks.last, function);
  } else {
    for_each_block(label, exec, blocks.first, blocks.last, function);
  }
}

}  // namespace detail

/// Encodes gradient + error of `blocks` with one scale per block; writes the codes to the message; keeps a
/// moving average of the rounding error.
///
///   h = g + e;  q = C(h);  message <- code of q;  e <- C8(beta_e e + (1 - beta_e)(h - q))
///
/// g = gradient_scale times the gradient; average = Ema::make(beta_e). An inactive element is sent as 0 and
/// keeps no error. C8: the uniform code of 8 bits, whose step follows the largest error of the same block,
/// because a fixed step has a dead zone.
/// Shape: error has map.elements codes and map.blocks steps, of the map of `blocks`; gradient has
/// map.elements elements, message the words of all chunks. Memory: reads g and e, writes e: 6 B + bits/8 per
/// element (4 B + bits/8 if g has 16 bits), 12 B per block; a block too long for cache or registers is read
/// in each of three passes. Deterministic: independent of the number of threads.
/// Worked number: 4 bits, beta_e = 0.8, e = 0, g = (0.7, 0.25): q = (0.7, 0.2), e <- (0, 0.01).
template <class Exec, int Bits, class MemorySpace>
void encode_with_moving_average_error(const Exec& exec, const UniformQuantiser<Bits>& quantiser,
                                      const BlockRange& blocks, const Numbers<MemorySpace>& gradient,
                                      float gradient_scale, const ActiveMask<MemorySpace>& active,
                                      const ByteError<MemorySpace>& error, const Ema& average,
                                      const Words<MemorySpace>& message) {
  detail::for_each_short_block(
      "kadam::encode_with_moving_average_error", exec, blocks,
      detail::EncodeWithMovingAverageError<UniformQuantiser<Bits>, MemorySpace>{
          quantiser, blocks.map, gradient, gradient_scale, active, error, average, message});
}

/// out <- e in float32. Shape: out has map.elements elements. Memory: 5 B per element.
template <class Exec, class MemorySpace>
void decode_byte_error(const Exec& exec, const BlockMap& map, const ByteError<MemorySpace>& error,
                       const Kokkos::View<float*, MemorySpace>& out) {
  detail::for_each_block("kadam::decode_byte_error", exec, 0, map.blocks,
                         detail::DecodeByteError<MemorySpace>{map, error, out});
}

/// e <- C8(values). with_its_steps: keeps the steps that `error` holds, and writes the codes nearest to the
/// values; so values from decode_byte_error() become the same codes again. Shape: values has map.elements
/// elements. Memory: 5 B per element, 9 B if a block does not stay in cache.
template <class Exec, class MemorySpace>
void encode_byte_error(const Exec& exec, const BlockMap& map,
                       const Kokkos::View<const float*, MemorySpace>& values, bool with_its_steps,
                       const ByteError<MemorySpace>& error) {
  detail::for_each_block("kadam::encode_byte_error", exec, 0, map.blocks,
                         detail::EncodeByteError<MemorySpace>{map, values, with_its_steps, error});
}

/// out(i) = (1/n) sum_r decode(message r, i), for the elements of `blocks`, which lie in one chunk. Sums are
/// in rank order; a CPU adds up sign codes four ranks at a time (MeanOfMessages).
///
/// Shape: messages holds one message of the chunk from each of the n ranks, stride_words apart; the map of
/// `blocks` describes this one chunk, and so does out: i = 0 is its first element.
/// Memory: n bits/8 + 4 B per element.
template <class Exec, Quantiser Q, class MemorySpace>
void decode_mean(const Exec& exec, const Q& quantiser, const BlockRange& blocks,
                 const ConstWords<MemorySpace>& messages, int ranks, std::int64_t stride_words,
                 const Kokkos::View<float*, MemorySpace>& out) {
  using Source = detail::MeanOfMessages<Q, MemorySpace>;
  const Source source{quantiser, messages, ranks, stride_words, static_cast<float>(1.0 / ranks)};
  detail::for_each_short_block("kadam::decode_mean", exec, blocks,
                               detail::MeanOfBlock<Q, MemorySpace>{source, blocks.map, out});
}

}  // namespace kadam
