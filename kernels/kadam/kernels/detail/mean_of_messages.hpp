// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/kernels/block_map.hpp>
#include <kadam/kernels/detail/block_loop.hpp>
#include <kadam/kernels/detail/code_tile.hpp>
#include <kadam/kernels/detail/code_word.hpp>
#include <kadam/kernels/detail/held_codes.hpp>
#include <kadam/kernels/detail/host_vector.hpp>
#include <kadam/kernels/words.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>

namespace kadam::detail {

/// A source of input (see block_source.hpp): the mean of the messages of all ranks, in rank order,
/// error(i) <- (1/n) sum_r decode(message r, i) + error(i). A CPU adds up 1-bit codes four ranks at a time:
/// ((q_0 + q_1 + q_2 + q_3) + (q_4 + ...)) + ...
template <Quantiser Q, class MemorySpace>
struct MeanOfMessages {
  Q quantiser;
  ConstWords<MemorySpace> messages;  ///< of all ranks, that of rank 0 first
  std::int64_t ranks;
  std::int64_t stride_words;  ///< between the messages of consecutive ranks
  float inverse_ranks;        ///< 1/n

  /// h <- h + the mean, by one thread; finish(first, length) after each part, as block_source.hpp says.
  template <class Finish>
  KOKKOS_FORCEINLINE_FUNCTION void compensate(const HostBlockMember& member, const BlockMap::Block& block,
                                              float* h, const Finish& finish) const {
    const float share = inverse_ranks;
    for_each_sum(member, block, [&](const std::int64_t in_block, const std::int64_t count, const float* sum) {
      float* const of_part = h + in_block;
      member.for_each(count, [=](const std::int64_t k) { of_part[k] += sum[k] * share; });
      finish(in_block, count);
    });
  }

  /// The mean alone, by one thread: out(i) <- (1/n) sum_r decode(message r, i).
  template <class View>
  KOKKOS_FORCEINLINE_FUNCTION void write_mean(const HostBlockMember& member, const BlockMap::Block& block,
                                              const View& out) const {
    const float share = inverse_ranks;
    for_each_sum(member, block, [&](const std::int64_t in_block, const std::int64_t count, const float* sum) {
      float* const of_part = &out(block.first_element + in_block);
      member.for_each(count, [=](const std::int64_t k) { of_part[k] = sum[k] * share; });
    });
  }

  /// held[j] <- error + the mean, by a team, as block_source.hpp says.
  template <class Member, class Error>
  KOKKOS_FORCEINLINE_FUNCTION void hold(const Member& member, const BlockMap::Block& block,
                                        std::int64_t first, const Error& error, float* held) const {
    hold_mean(member, block, first, held);
    member.for_each_held(first, block.elements, [&](const int j, const std::int64_t k) {
      held[j] += error(block.first_element + k);
    });
  }

  /// The mean alone, by a team: held[j] <- the mean of the element in register j, in the round from element
  /// `first` of the block on. No barrier.
  template <class Member>
  KOKKOS_FORCEINLINE_FUNCTION void hold_mean(const Member& member, const BlockMap::Block& block,
                                             std::int64_t first, float* held) const {
    member.for_each_held(first, block.elements, [&](const int j, const std::int64_t) { held[j] = 0.0F; });
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const std::uint32_t* message = messages.data() + rank * stride_words;
      const HeldValues<Q, Member> said(member, quantiser, message + block.first_word, first,
                                       scale_in<Q>(message, block.scale_word));
      member.for_each_held(first, block.elements,
                           [&](const int j, const std::int64_t) { held[j] += said[j]; });
    }
    member.for_each_held(first, block.elements,
                         [&](const int j, const std::int64_t) { held[j] *= inverse_ranks; });
  }

  /// Whether messages are added up slower than memory delivers errors: all but the signs of a few ranks.
  /// Measured on a Zen 4: signs of 4 and 8 ranks are faster without prefetching, those of 64 and wider codes
  /// of 4 with it.
  [[nodiscard]] KOKKOS_FORCEINLINE_FUNCTION bool waits_for_arithmetic() const {
    return Q::bits > 1 || ranks > 8;
  }

 private:
  /// Prefetches `words` words of every message, if there are as many: a processor foresees what is read of a
  /// few streams, not of 64.
  KOKKOS_FORCEINLINE_FUNCTION void prefetch_messages(std::int64_t first_word, std::int64_t words) const {
    if (first_word + words > stride_words) return;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      prefetch(messages.data() + rank * stride_words + first_word, words);
    }
  }

  /// The next part of a message, or the next line of 64 bytes if a part is shorter.
  static constexpr std::int64_t words_ahead = Kokkos::max(words_holding<Q>(tile_elements), std::int64_t{16});

  /// function(first, length, sum) for each part of a block: sum[k] is the sum over all ranks of the values of
  /// element first + k of the block.
  template <class Function>
  KOKKOS_FORCEINLINE_FUNCTION void for_each_sum(const HostBlockMember& member, const BlockMap::Block& block,
                                                const Function& function) const {
    float tables[uses_tables ? 16 * tables_at_a_time : 1];
    const bool all_fit = ranks <= tables_at_a_time * ranks_of_table;
    if constexpr (uses_tables) {
      if (all_fit) fill_tables(0, block.scale_word, tables);
    }
    member.for_each_part(block.elements, [&](const std::int64_t in_block, const std::int64_t count) {
      const std::int64_t first_word = block.first_word + in_block / elements_per_word<Q>;
      prefetch_messages(first_word + words_ahead, words_holding<Q>(count));
      float sum[tile_elements];
      if constexpr (uses_tables) {
        for (std::int64_t rank = 0; rank < ranks; rank += tables_at_a_time * ranks_of_table) {
          if (!all_fit) fill_tables(rank, block.scale_word, tables);
          add_by_tables(rank, tables, block.scale_word, first_word, count, sum);
        }
      } else {
        sum_of_values(member, block.scale_word, first_word, count, sum);
      }
      function(in_block, count, sum);
    });
  }

  /// sum <- the sums over all ranks of the values of `count` elements, message by message.
  KOKKOS_FORCEINLINE_FUNCTION void sum_of_values(const HostBlockMember& member, std::int64_t scale_word,
                                                 std::int64_t first_word, std::int64_t count,
                                                 float* KOKKOS_RESTRICT sum) const {
    const auto add = [&](const std::int64_t rank, const auto& rule) {
      const std::uint32_t* message = messages.data() + rank * stride_words;
      for_each_value(member, quantiser, message + first_word, count, scale_in<Q>(message, scale_word), rule);
    };
    add(0, [sum](const std::int64_t k, const float value) { sum[k] = 0.0F + value; });  // +0, where it is -0
    for (std::int64_t rank = 1; rank < ranks; ++rank) {
      add(rank, [sum](const std::int64_t k, const float value) { sum[k] += value; });
    }
  }

  /// A table has 16 numbers: the value of each 4-bit code of one rank, or the sum of the values of four ranks
  /// for each combination of their 1-bit codes.
  static constexpr bool uses_tables = Q::bits == 1 || Q::bits == 4;
  static constexpr std::int64_t ranks_of_table = uses_tables ? 4 / Q::bits : 1;
  static constexpr std::int64_t tables_at_a_time = 16;

  /// The number of tables for the ranks from `rank` on, at most tables_at_a_time.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION std::int64_t used_tables(std::int64_t rank) const {
    return Kokkos::min(tables_at_a_time, (ranks - rank + ranks_of_table - 1) / ranks_of_table);
  }

  KOKKOS_INLINE_FUNCTION void fill_tables(std::int64_t rank, std::int64_t scale_word, float* tables) const {
    const std::int64_t used = used_tables(rank);
    for (std::int64_t t = 0; t < used; ++t) {
      fill_table(rank + t * ranks_of_table, scale_word, tables + 16 * t);
    }
  }

  /// Adds the values of the ranks from `rank` on, as many as `tables` are for, to sum[0, count); if rank is
  /// 0, sets sum to them.
  KOKKOS_INLINE_FUNCTION void add_by_tables(std::int64_t rank, const float* tables, std::int64_t scale_word,
                                            std::int64_t first_word, std::int64_t count,
                                            float* KOKKOS_RESTRICT sum) const {
    constexpr std::int64_t indices_of_part = tile_elements / 8;
    std::uint32_t signs[Q::bits == 1 ? indices_of_part * tables_at_a_time : 1];
    const std::int64_t used = used_tables(rank);
    const std::uint32_t* indices = messages.data() + rank * stride_words + first_word;
    std::int64_t stride = stride_words;
    if constexpr (Q::bits == 1) {
      for (std::int64_t t = 0; t < used; ++t) {
        index_signs(rank + 4 * t, first_word, words_holding<Q>(count), signs + t * indices_of_part);
      }
      indices = signs;
      stride = indices_of_part;
    }
    std::int64_t w = 0;
    for (; 32 * (w + 1) <= count; ++w) {
      const std::uint32_t* const index = indices + (Q::bits == 1 ? index_place(w) : 4 * w);
      SumsOf32 sums;
      if (rank > 0) sums.read(sum + 32 * w);
      for (std::int64_t t = 0; t < used; ++t) {
        sums.template add<Q::bits == 1>(tables + 16 * t, index + t * stride);
      }
      sums.write(sum + 32 * w);
    }
    for (std::int64_t k = 32 * w; k < count; ++k) {
      if (rank == 0) sum[k] = 0.0F;
      for (std::int64_t t = 0; t < used; ++t) {
        sum[k] += value_of_ranks(rank + t * ranks_of_table, scale_word, first_word, k);
      }
    }
  }

  /// table[code] <- the value of a 4-bit code of rank `rank`, or the sum, in rank order, of the values of up
  /// to four ranks from `rank` on, with bit r of code as the 1-bit code of rank `rank` + r.
  KOKKOS_INLINE_FUNCTION void fill_table(std::int64_t rank, std::int64_t scale_word, float* table) const {
    const auto scale = [&](const std::int64_t r) {
      return scale_in<Q>(messages.data() + r * stride_words, scale_word);
    };
    if constexpr (Q::bits == 4) {
      const float of_rank = scale(rank);
      for (std::uint32_t code = 0; code < 16U; ++code) table[code] = quantiser.decode(code, of_rank);
    } else {
      float sum[16] = {};
      const std::int64_t used = Kokkos::min(ranks - rank, std::int64_t{4});
      for (std::int64_t r = 0; r < used; ++r) {
        const float of_rank = scale(rank + r);
        for (std::uint32_t code = 0; code < 16U; ++code) {
          sum[code] += quantiser.decode((code >> static_cast<unsigned>(r)) & 1U, of_rank);
        }
      }
      for (int code = 0; code < 16; ++code) table[code] = sum[code];
    }
  }

  /// indices <- the 1-bit codes of four ranks from `rank` on, as indices_of_signs() writes them; 0 in place
  /// of ranks that do not exist.
  KOKKOS_INLINE_FUNCTION void index_signs(std::int64_t rank, std::int64_t first_word, std::int64_t words,
                                          std::uint32_t* indices) const {
    const std::uint32_t none[tile_elements / 32] = {};
    const auto of = [&](const std::int64_t r) {
      return r < ranks ? messages.data() + r * stride_words + first_word : none;
    };
    indices_of_signs(of(rank), of(rank + 1), of(rank + 2), of(rank + 3), words, indices);
  }

  /// The sum of the values of element k over the ranks of one table, which begins with `rank`.
  [[nodiscard]] KOKKOS_INLINE_FUNCTION float value_of_ranks(std::int64_t rank, std::int64_t scale_word,
                                                            std::int64_t first_word, std::int64_t k) const {
    const std::int64_t last = Kokkos::min(ranks, rank + ranks_of_table);
    float value = 0.0F;
    for (; rank < last; ++rank) {
      const std::uint32_t* message = messages.data() + rank * stride_words;
      value += value_at(quantiser, message + first_word, k, scale_in<Q>(message, scale_word));
    }
    return value;
  }
};

}  // namespace kadam::detail
