// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/low_bit_layout.hpp>

namespace kadam {

LowBitLayout::LowBitLayout(const Arrangement& ranks, const AnyQuantiser& quantiser, std::int64_t elements,
                           std::int64_t block_elements, NumberFormat gradients)
    : elements_(elements),
      gradients_(gradients),
      code_(figures_of(quantiser)),
      node_(ranks, elements, gradients),
      codec_(quantiser, ranks.chunks_of_shard(elements), block_elements),
      owner_(ranks.owner) {}

Cost LowBitLayout::cost() const {
  Cost cost;
  const std::int64_t own = chunks().chunk(owner_).elements();
  MemoryUse& memory = cost.memory;
  memory.workspace_bytes = sizeof(float) * static_cast<std::size_t>(own);
  const BlockMessage& message = codec_.message();
  const std::size_t own_bytes = message.piece(owner_).bytes;
  cost.transfers = {{Pattern::all_to_all, Traffic::compressed, message.total_bytes() - own_bytes}};
  if (compresses()) {
    const std::size_t own_from_all = own_bytes * static_cast<std::size_t>(chunks().ranks());
    cost.work = {{cost::loco_encode(code_.name, code_.bits), static_cast<double>(chunks().elements())},
                 {cost::loco_mean, static_cast<double>(own * chunks().ranks())}};
    memory.state_bytes = static_cast<std::size_t>(chunks().elements()) +
                         sizeof(float) * static_cast<std::size_t>(message.map().blocks);
    memory.workspace_bytes += message.total_bytes() + own_from_all;
  } else {
    cost.work = {{cost::copy, static_cast<double>(own)}};
  }
  if (!node_.exists()) return cost;
  cost.transfers.insert(cost.transfers.begin(), node_.mean(gradients_));
  cost.work.push_back({cost::dense_mean, static_cast<double>(node_.shard().elements() * node_.ranks())});
  memory.workspace_bytes += node_.memory_bytes() +
                            bytes_per_number(gradients_) * static_cast<std::size_t>(node_.shard().elements());
  return cost;
}

}  // namespace kadam
