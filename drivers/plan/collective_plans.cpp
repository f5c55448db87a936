// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/block_codec.hpp>
#include <kadam/wire/sparse_message.hpp>
#include <plan/collective_plans.hpp>

#include <algorithm>

namespace kadam::plan {
namespace {

std::size_t size(std::int64_t elements) {
  return static_cast<std::size_t>(elements);
}

std::vector<Piece> pieces_of(const ChunkLayout& chunks, NumberFormat format) {
  std::vector<Piece> pieces;
  pieces.reserve(size(chunks.ranks()));
  for (int r = 0; r < chunks.ranks(); ++r) {
    const ElementRange chunk = chunks.chunk(r);
    pieces.push_back(
        {size(chunk.begin) * bytes_per_number(format), size(chunk.elements()) * bytes_per_number(format)});
  }
  return pieces;
}

/// One rank has nobody to send to: its code is the identity.
BlockMessage message_of(const ChunkLayout& chunks, std::int64_t block_elements, std::string_view code) {
  const AnyQuantiser quantiser = make_quantiser(chunks.ranks() == 1 ? IdentityQuantiser::name : code);
  return BlockCodec(quantiser, chunks, block_elements).message();
}

double product(std::int64_t a, std::int64_t b) {
  return static_cast<double>(a) * static_cast<double>(b);
}

/// Densities between 1 and 0.1 % cost something in between; the nearer one counts.
Kernel selection_kernel(const SparseMessage& message, double density) {
  constexpr double between = 0.003;
  const bool whole = message.map().block_elements > SparseMessage::largest_select_block;
  if (density < between) return whole ? Kernel::top_k_all_permille : Kernel::top_k_permille;
  return whole ? Kernel::top_k_all_percent : Kernel::top_k_percent;
}

CollectivePlan sum_by_all(const SparseMessage& message, int ranks) {
  constexpr std::size_t most_sum_bytes = std::size_t{16} << 20;
  CollectivePlan plan;
  const std::size_t bytes = message.total_bytes();
  plan.transfers = {{Pattern::all_gather, bytes * size(ranks - 1)}};
  plan.work = {{Kernel::sparse_sum, product(message.map().entries(), ranks)}};
  plan.workspace_bytes =
      bytes * size(ranks) + std::min(sizeof(float) * size(message.map().elements), most_sum_bytes);
  return plan;
}

CollectivePlan sum_by_owners(const SparseMessage& message, int ranks, Kernel selection) {
  CollectivePlan plan;
  std::vector<Piece> pieces;
  pieces.reserve(size(ranks));
  for (int r = 0; r < ranks; ++r) pieces.push_back(message.piece(message.region(ranks, r)));
  plan.transfers = owner_transfers(pieces);
  const std::int64_t region = message.region(ranks, 0).elements();
  const std::int64_t entries = message.map_of(message.region(ranks, 0)).entries();
  plan.work = {{Kernel::sparse_sum, product(entries, ranks)},
               {Kernel::scale, static_cast<double>(region)},
               {selection, static_cast<double>(region)},
               {Kernel::sparse_apply, static_cast<double>(message.map().entries())}};
  plan.workspace_bytes =
      pieces.front().bytes * size(ranks) + 2 * message.total_bytes() + sizeof(float) * size(region);
  return plan;
}

}  // namespace

std::vector<Transfer> owner_transfers(std::span<const Piece> pieces) {
  std::size_t to_others = 0;
  for (const Piece& piece : pieces.subspan(1)) to_others += piece.bytes;
  return {{Pattern::all_to_all, to_others}, {Pattern::all_gather, (pieces.size() - 1) * pieces[0].bytes}};
}

CollectivePlan dense_mean_plan(const ChunkLayout& chunks, NumberFormat format, NumberFormat widest) {
  CollectivePlan plan;
  if (chunks.ranks() == 1) return plan;
  const std::int64_t received = chunks.chunk(0).elements() * chunks.ranks();
  plan.transfers = owner_transfers(pieces_of(chunks, format));
  plan.work = {{Kernel::dense_mean, static_cast<double>(received)}};
  plan.workspace_bytes = bytes_per_number(widest) * size(received + chunks.elements());
  return plan;
}

CollectivePlan compressed_mean_plan(const ChunkLayout& chunks, std::int64_t block_elements,
                                    std::string_view code) {
  const std::int64_t own = chunks.chunk(0).elements();
  const std::vector<Piece> pieces = message_of(chunks, block_elements, code).pieces();
  CollectivePlan plan;
  plan.work = {{encode_kernel(code), static_cast<double>(chunks.elements())}};
  plan.state_bytes = sizeof(float) * size(chunks.elements());
  const std::size_t message_bytes = pieces.back().offset_bytes + pieces.back().bytes;
  plan.workspace_bytes = message_bytes;
  if (chunks.ranks() == 1) return plan;
  plan.transfers = owner_transfers(pieces);
  plan.work.push_back({reduce_kernel(code), product(own, chunks.ranks())});
  plan.work.push_back({Kernel::reply, static_cast<double>(own)});
  plan.state_bytes += sizeof(float) * size(own);
  plan.workspace_bytes += message_bytes + pieces.front().bytes * pieces.size();
  return plan;
}

CollectivePlan low_bit_plan(const ChunkLayout& chunks, std::int64_t block_elements, std::string_view code,
                            NumberFormat gathered) {
  const std::int64_t own = chunks.chunk(0).elements();
  CollectivePlan plan;
  plan.workspace_bytes = sizeof(float) * size(own);
  if (chunks.ranks() == 1) {
    plan.work = {{Kernel::copy, static_cast<double>(own)}};
    return plan;
  }
  const BlockMessage message = message_of(chunks, block_elements, code);
  const std::vector<Piece> pieces = message.pieces();
  plan.transfers = {owner_transfers(pieces)[0], owner_transfers(pieces_of(chunks, gathered))[1]};
  plan.work = {{loco_encode_kernel(code), static_cast<double>(chunks.elements())},
               {Kernel::loco_mean, product(own, chunks.ranks())}};
  plan.state_bytes = size(chunks.elements()) + sizeof(float) * size(message.map().blocks);
  plan.workspace_bytes += message.total_bytes() + pieces.front().bytes * pieces.size();
  return plan;
}

CollectivePlan sparse_mean_plan(std::int64_t elements, int ranks, const SparseOptions& options) {
  const bool has_owners = options.exchange == SparseExchange::owner;
  // With owners and no select block, every region is a block of its own.
  const std::int64_t block = options.select_block == 0 && has_owners
                                 ? ChunkLayout(elements, ranks).chunk_elements()
                                 : options.select_block;
  if (ranks == 1) return {{}, {{Kernel::copy, 2.0 * static_cast<double>(elements)}}, 0, 0};
  const SparseMessage message(elements, block, options.density);
  const Kernel selection = selection_kernel(message, options.density);
  CollectivePlan plan = has_owners ? sum_by_owners(message, ranks, selection) : sum_by_all(message, ranks);
  plan.work.push_back({selection, static_cast<double>(elements)});
  return plan;
}

}  // namespace kadam::plan
