// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
#include <kadam/kernels/block_coder.hpp>
#include <kadam/kernels/moving_average_error.hpp>
#include <kadam/wire/block_message.hpp>
#include <kernels/execution_spaces.hpp>
#include <kernels/kernel_cases.hpp>

#include <bit>
#include <random>
#include <string>
#include <vector>

namespace kadam {
namespace {

/// Messages of any codes and scales, one after the other, of one chunk.
struct RandomMessages {
  BlockMap map;
  std::int64_t stride = 0;
  std::vector<std::uint32_t> words;

  template <class Q>
  static RandomMessages of(const Q& /*quantiser*/, std::int64_t elements, std::int64_t block, int ranks) {
    const BlockMessage message(ChunkLayout(elements, 1), block, Q::bits, Q::has_scale);
    RandomMessages messages{message.chunk_map(0), static_cast<std::int64_t>(message.total_bytes() / 4), {}};
    std::mt19937 random(7);
    messages.words.resize(static_cast<std::size_t>(ranks * messages.stride));
    for (std::uint32_t& word : messages.words) word = static_cast<std::uint32_t>(random());
    std::uniform_real_distribution<float> scales(0.0F, 3.0F);
    for (int rank = 0; rank < ranks; ++rank) {
      for (std::int64_t b = 0; b < messages.map.blocks; ++b) {
        messages.words[static_cast<std::size_t>(rank * messages.stride + messages.map.block(b).scale_word)] =
            std::bit_cast<std::uint32_t>(scales(random));
      }
    }
    return messages;
  }

  /// Value of element k of a block in the message of a rank.
  template <class Q>
  [[nodiscard]] float value(const Q& quantiser, int rank, const BlockMap::Block& block,
                            std::int64_t k) const {
    const std::uint32_t* const message = words.data() + rank * stride;
    constexpr std::int64_t width = 32 / Q::bits;
    const std::uint32_t word = message[block.first_word + k / width];
    const auto shift = static_cast<unsigned>(k % width * Q::bits);
    const std::uint32_t code = (word >> shift) & ((std::uint32_t{1} << static_cast<unsigned>(Q::bits)) - 1U);
    return quantiser.decode(code, std::bit_cast<float>(message[block.scale_word]));
  }
};

/// Means in plain loops. In rank order, `together` ranks added up before the next.
template <class Q>
std::vector<float> plain_means(const Q& quantiser, const RandomMessages& messages, int ranks, int together) {
  std::vector<float> means(static_cast<std::size_t>(messages.map.elements));
  for (std::int64_t b = 0; b < messages.map.blocks; ++b) {
    const BlockMap::Block block = messages.map.block(b);
    for (std::int64_t k = 0; k < block.elements; ++k) {
      float sum = 0.0F;
      for (int first = 0; first < ranks; first += together) {
        float some = 0.0F;
        for (int rank = first; rank < std::min(ranks, first + together); ++rank) {
          some += messages.value(quantiser, rank, block, k);
        }
        sum += some;
      }
      means[static_cast<std::size_t>(block.first_element + k)] = sum * static_cast<float>(1.0 / ranks);
    }
  }
  return means;
}

template <class Exec>
class MeanOfMessagesTest : public testing::Test {};
TYPED_TEST_SUITE(MeanOfMessagesTest, test::ExecutionSpaces);

/// Numbers of ranks around four, which are looked up together, and around what fits into all tables: 64 of
/// 1 bit, 16 of 4 bits. Lengths around a word, a tile and a block.
TYPED_TEST(MeanOfMessagesTest, IsTheSumInRankOrderToTheLastBit) {
  using Space = typename TypeParam::memory_space;
  const TypeParam exec;
  const ActiveMask<Space> all;
  const auto check = [&]<class Q>(const Q& quantiser) {
    const int together = Q::bits == 1 && detail::one_thread_per_block<TypeParam> ? 4 : 1;
    for (const int ranks : {1, 2, 3, 4, 5, 8, 16, 17, 33, 64, 65, 130}) {
      for (const std::int64_t elements : {1, 31, 32, 33, 255, 256, 257, 300, 2500}) {
        for (const std::int64_t block : {64, 256, 2048}) {
          const std::string where = std::string(Q::name) + " of " + std::to_string(ranks) +
                                    ", d = " + std::to_string(elements) + ", block " + std::to_string(block);
          const RandomMessages messages = RandomMessages::of(quantiser, elements, block, ranks);
          const std::vector<float> wanted = plain_means(quantiser, messages, ranks, together);
          const ConstWords<Space> words = test::to_device<Space>(messages.words);

          const Kokkos::View<float*, Space> out("out", static_cast<std::size_t>(elements));
          decode_mean(exec, quantiser, messages.map, words, ranks, messages.stride, out);
          exec.fence();
          test::expect_same_numbers(test::to_host(out), wanted, where);

          // What the owner keeps and what it says add up to the mean, because the difference is exact.
          const auto error = test::to_device<Space>(std::vector<float>(wanted.size(), 0.0F));
          const Words<Space> reply("reply", static_cast<std::size_t>(messages.stride));
          reduce_and_encode(exec, quantiser, messages.map, words, ranks, messages.stride, all, error, reply);
          exec.fence();
          const std::vector<float> kept = test::to_host(error);
          RandomMessages said{messages.map, messages.stride, test::to_host(reply)};
          for (std::int64_t b = 0; b < messages.map.blocks; ++b) {
            const BlockMap::Block of = messages.map.block(b);
            for (std::int64_t k = 0; k < of.elements; ++k) {
              const auto i = static_cast<std::size_t>(of.first_element + k);
              ASSERT_EQ(kept[i], wanted[i] - said.value(quantiser, 0, of, k)) << where << ", element " << i;
            }
          }
        }
      }
    }
  };
  check(SignQuantiser{});
  check(UniformQuantiser<2>{});
  check(UniformQuantiser<4>{});
  check(UniformQuantiser<8>{});
}

}  // namespace
}  // namespace kadam
