// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/factor_mean.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/kernels/on_device.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam {
namespace {

/// The parts of each block: those of its column, from the element of the column at which the block begins.
std::vector<FactorParts> parts_of_blocks(const FactorMessage& message,
                                         const std::vector<FactorParts>& parts) {
  std::vector<FactorParts> of_blocks;
  std::size_t column = 0;
  std::int64_t column_begin = 0;
  for (std::size_t k = 0; k < message.blocks().size(); ++k) {
    const FactorBlock& block = message.blocks()[k];
    if (message.columns()[k] != column) column_begin = block.first_element;
    column = message.columns()[k];
    of_blocks.push_back(parts[column]);
    of_blocks.back().first += block.first_element - column_begin;
  }
  return of_blocks;
}

}  // namespace

FactorQuantiser make_factor_quantiser(std::int64_t bits) {
  if (bits == 4) return UniformQuantiser<4>{};
  if (bits == 8) return UniformQuantiser<8>{};
  if (bits == 32) return IdentityQuantiser{};
  throw std::invalid_argument("expected factors of 4, 8 or 32 bits, got " + std::to_string(bits));
}

FactorMeanLayout::FactorMeanLayout(const Arrangement& ranks, const FactorQuantiser& quantiser,
                                   const std::vector<std::int64_t>& columns)
    : ranks_(ranks.ranks), rank_(ranks.rank) {
  std::visit(
      [&](const auto& code) { message_ = FactorMessage(columns, ranks.ranks, code.bits, code.has_scale); },
      quantiser);
}

Cost FactorMeanLayout::cost() const {
  Cost cost;
  const std::size_t own = message_.piece(rank_).bytes;
  const auto others = static_cast<std::size_t>(ranks_ - 1);
  cost.transfers = {{Pattern::all_to_all, Traffic::compressed, message_.total_bytes() - own, true},
                    {Pattern::all_gather, Traffic::compressed, others * own, true}};
  cost.memory.workspace_bytes = 2 * message_.total_bytes() + own * static_cast<std::size_t>(ranks_) +
                                sizeof(float) * static_cast<std::size_t>(own_chunk().elements()) +
                                message_.blocks().size() * (sizeof(FactorBlock) + sizeof(FactorParts));
  return cost;
}

FactorMean::FactorMean(const ExecutionSpace& exec, const FactorQuantiser& quantiser,
                       Communicator& communicator, const std::vector<std::int64_t>& columns,
                       const std::vector<FactorParts>& parts)
    : layout_(communicator.arrangement(), quantiser, columns),
      quantiser_(quantiser),
      communicator_(&communicator) {
  const FactorMessage& message = layout_.message();
  blocks_ = on_device<MemorySpace>("kadam::FactorMean::blocks", message.blocks());
  parts_ = on_device<MemorySpace>("kadam::FactorMean::parts", parts_of_blocks(message, parts));
  const std::size_t own = message.piece(layout_.rank()).bytes;
  for (int r = 0; r < layout_.ranks(); ++r)
    received_pieces_.push_back({static_cast<std::size_t>(r) * own, own});
  messages_ = allocate<std::uint32_t>(exec, "kadam::FactorMean::messages", words_of(message.total_bytes()));
  replies_ = allocate<std::uint32_t>(exec, "kadam::FactorMean::replies", words_of(message.total_bytes()));
  received_ = allocate<std::uint32_t>(exec, "kadam::FactorMean::received", words_of(own) * layout_.ranks());
  means_ = allocate<float>(exec, "kadam::FactorMean::means", layout_.own_chunk().elements());
}

void FactorMean::operator()(const ExecutionSpace& exec, Phases& phases, const Vector<const double>& sums,
                            const Vector<float>& own, const Vector<float>& mean, Loss loss) {
  const FactorMessage& message = layout_.message();
  const int rank = layout_.rank();
  std::visit(
      [&](const auto& quantiser) {
        {
          const auto scope = phases.enter(exec, Phase::encode);
          encode_factors(exec, quantiser, blocks_, parts_, sums, own, messages_);
        }
        {
          const auto scope = phases.enter(exec, Phase::exchange);
          communicator_->all_to_all(exec, Traffic::compressed, bytes_of(messages_), message.pieces(),
                                    bytes_of(received_), received_pieces_);
        }
        {
          const auto scope = phases.enter(exec, Phase::encode);
          ReceivedFactors<MemorySpace> received;
          received.first = message.first_block(rank);
          received.last = message.end_block(rank);
          received.first_word = words_of(message.piece(rank).offset_bytes);
          received.first_element = layout_.own_chunk().begin;
          received.ranks = layout_.ranks();
          received.stride_words = words_of(message.piece(rank).bytes);
          received.words = received_;
          reduce_factors(exec, quantiser, blocks_, received, means_,
                         loss == Loss::kept ? own : Vector<float>(), replies_);
        }
        {
          const auto scope = phases.enter(exec, Phase::exchange);
          communicator_->all_gather(exec, Traffic::compressed, bytes_of(replies_), message.pieces());
        }
        const auto scope = phases.enter(exec, Phase::decode);
        decode_factors(exec, quantiser, blocks_, ConstWords<MemorySpace>(replies_), mean);
      },
      quantiser_);
}

}  // namespace kadam
