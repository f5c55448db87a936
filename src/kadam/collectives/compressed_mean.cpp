// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/compressed_mean.hpp>
#include <kadam/kernels/element_loop.hpp>
#include <kadam/kernels/element_of.hpp>
#include <kadam/kernels/half_copy.hpp>
#include <kadam/kernels/numbers.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace kadam {
namespace {

struct Multiply {
  float factor;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(float& value) const { value *= factor; }
};

/// to <- to + times from
struct AddMultiple {
  float times;
  KOKKOS_FORCEINLINE_FUNCTION void operator()(const float& from, float& to) const { to += times * from; }
};

/// The error itself, or a vector that takes its place in a state: with what it says, if that is wanted.
Vector<float> as_floats(const ExecutionSpace& exec, const CompressedMean::Error& error, bool with_values) {
  if (const auto* const floats = std::get_if<Vector<float>>(&error)) return *floats;
  const auto& values = std::get<Vector<Bfloat16>>(error);
  const auto floats = allocate<float>(exec, "kadam::CompressedMean::error_in_float32",
                                      static_cast<std::int64_t>(values.extent(0)));
  if (with_values) scale_numbers<ExecutionSpace, MemorySpace>(exec, 1.0F, values, floats);
  return floats;
}

}  // namespace

CompressedMeanLayout::CompressedMeanLayout(const Arrangement& ranks, const AnyQuantiser& quantiser,
                                           std::int64_t elements, std::int64_t block_elements,
                                           NumberFormat errors)
    : code_(figures_of(quantiser)), node_(ranks, elements), owner_(ranks.owner), errors_(errors) {
  const AnyQuantiser code = ranks.owners() == 1 ? AnyQuantiser(IdentityQuantiser{}) : quantiser;
  codec_ = BlockCodec(code, ChunkLayout(elements, ranks.ranks), block_elements);
  codec_of_chunks_ = BlockCodec(code, ranks.chunks_of_shard(elements), block_elements);
}

Cost CompressedMeanLayout::cost() const {
  Cost cost;
  const auto own = static_cast<double>(chunks().chunk(owner_).elements());
  const bool is_short = errors() == NumberFormat::bfloat16;
  cost.work = {{is_short ? cost::encode_short(code_.name, code_.bits) : cost::encode(code_.name, code_.bits),
                static_cast<double>(chunks().elements())}};
  cost.memory = memory();
  const BlockMessage& message = codec_of_chunks_.message();
  const std::size_t own_bytes = message.piece(owner_).bytes;
  const auto others = static_cast<std::size_t>(chunks().ranks() - 1);
  cost.transfers = {{Pattern::all_to_all, Traffic::compressed, message.total_bytes() - own_bytes},
                    {Pattern::all_gather, Traffic::compressed, others * own_bytes}};
  if (compresses()) {
    cost.work.push_back({cost::reduce(code_.name, code_.bits), own * chunks().ranks()});
    cost.work.push_back({cost::reply, own});
  }
  node_.surround(NumberFormat::float32, codec_.message().piece(node_.shard()).bytes, cost);
  return cost;
}

Work CompressedMeanLayout::decoding() const {
  return {cost::decode(code_.name, code_.bits), static_cast<double>(codec_.message().chunks().elements())};
}

MemoryUse CompressedMeanLayout::memory() const {
  const auto floats = [](std::int64_t elements) {
    return sizeof(float) * static_cast<std::size_t>(elements);
  };
  const auto of_errors = [&](std::int64_t elements) {
    return bytes_per_number(errors()) * static_cast<std::size_t>(elements);
  };
  MemoryUse use{of_errors(chunks().elements()), codec_.message().total_bytes()};
  if (node_.exists())
    use.workspace_bytes += floats(codec_.message().chunks().elements() + chunks().elements());
  if (!compresses()) return use;
  const BlockMessage& message = codec_of_chunks_.message();
  use.state_bytes += of_errors(chunks().chunk(owner_).elements());
  use.workspace_bytes +=
      message.total_bytes() + message.piece(owner_).bytes * static_cast<std::size_t>(chunks().ranks());
  return use;
}

CompressedMean::CompressedMean(const ExecutionSpace& exec, const AnyQuantiser& quantiser,
                               Communicator& communicator, std::int64_t elements, std::int64_t block_elements,
                               NumberFormat errors)
    : layout_(communicator.arrangement(), quantiser, elements, block_elements, errors),
      communicator_(&communicator),
      node_(exec, communicator, layout_.node()) {
  const ChunkLayout& chunks = layout_.chunks();
  state_.worker_error = allocate_error(exec, "kadam::CompressedMean::worker_error", chunks.elements());
  // Messages that say 0: what health figures read before the first exchange.
  replies_ = allocate_zeros<std::uint32_t>(exec, "kadam::CompressedMean::replies",
                                           words_of(layout_.codec().message().total_bytes()));
  own_replies_ = part_of(replies_, layout_.codec().message().piece(node_.shard()));
  if (node_.exists()) {
    input_ = allocate_zeros<float>(exec, "kadam::CompressedMean::input", elements);
    node_mean_ = allocate<float>(exec, "kadam::CompressedMean::node_mean", chunks.elements());
  }
  if (!layout_.compresses()) return;
  const BlockMessage& message = layout_.codec_of_chunks().message();
  state_.server_error =
      allocate_error(exec, "kadam::CompressedMean::server_error", chunks.chunk(layout_.owner()).elements());
  messages_ =
      allocate<std::uint32_t>(exec, "kadam::CompressedMean::messages", words_of(message.total_bytes()));
  received_ = allocate<std::uint32_t>(exec, "kadam::CompressedMean::received",
                                      words_of(message.piece(layout_.owner()).bytes) * chunks.ranks());
}

CompressedMean::Error CompressedMean::allocate_error(const ExecutionSpace& exec, const std::string& label,
                                                     std::int64_t elements) const {
  if (layout_.errors() == NumberFormat::bfloat16) return allocate_zeros<Bfloat16>(exec, label, elements);
  return allocate_zeros<float>(exec, label, elements);
}

std::uint32_t CompressedMean::rounding(Side side) const {
  const auto count = static_cast<std::uint64_t>(exchanges_);
  std::uint32_t number = side == Side::worker ? 1 : 2;
  for (const std::uint64_t part : {static_cast<std::uint64_t>(layout_.owner()), count, count >> 32U}) {
    number = scattered(number) ^ static_cast<std::uint32_t>(part);
  }
  return number;
}

void CompressedMean::run(const ExecutionSpace& exec, Phases& phases, const ActiveMask<MemorySpace>& active,
                         const Arrived& arrived, const Encode& encode) {
  ++exchanges_;
  const BlockCodec& codec = layout_.codec_of_chunks();
  if (!layout_.compresses()) {
    const auto scope = phases.enter(exec, Phase::encode);
    encode(codec.message().map());
    if (arrived) arrived({0, layout_.chunks().elements()});
    return;
  }
  Communicator& owners = communicator_->across();
  cut_messages(slices_, codec.message(), owners.piece_bytes());
  const ReductionSteps steps = steps_of(exec, phases, active, arrived, encode);
  Exchange exchange(exec, owners, Traffic::compressed, buffers());
  ReductionRun run(slices_, layout_.owner(), ReductionRun::Replies::to_all, exchange, steps);
  run_reduction(exec, phases, run);
}

/// What is done with slices; phases have to live on.
ReductionSteps CompressedMean::steps_of(const ExecutionSpace& exec, Phases& phases,
                                        const ActiveMask<MemorySpace>& active, const Arrived& arrived,
                                        const Encode& encode) {
  ReductionSteps steps;
  steps.encode = [this, exec, &phases, encode](int chunk, const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    encode(layout_.codec_of_chunks().blocks_of(slice.elements));
    const int rank = layout_.owner();
    if (chunk == rank) keep_own_message(exec, slices_, rank, slice, messages_, received_);
  };
  steps.reduce = [this, exec, &phases, active](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::encode);
    reduce(exec, slice, active);
  };
  if (arrived) {
    steps.arrived = [exec, &phases, arrived](int /*chunk*/, const Slice& slice) {
      const auto scope = phases.enter(exec, Phase::decode);
      arrived(slice.elements);
    };
  }
  return steps;
}

std::array<ExchangeBuffers, 2> CompressedMean::buffers() const {
  return {ExchangeBuffers{bytes_of(messages_), bytes_of(received_)},
          ExchangeBuffers{bytes_of(own_replies_), bytes_of(own_replies_)}};
}

CompressedMean::Encode CompressedMean::encoding(const ExecutionSpace& exec, const Vector<const float>& values,
                                                const ActiveMask<MemorySpace>& active) {
  return [this, exec, values, active](const BlockRange& blocks) {
    visit_error(state_.worker_error, Side::worker, [&](const auto& error) {
      layout_.codec_of_chunks().encode(exec, blocks, ElementOf<MemorySpace>{values}, active, error,
                                       outgoing());
    });
  };
}

void CompressedMean::prepare_background() {
  if (background_ != nullptr || !layout_.compresses()) return;
  background_ = communicator_->across().duplicate();
  background_->reserve_staging();
}

void CompressedMean::start(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& y,
                           const ActiveMask<MemorySpace>& active) {
  ++exchanges_;
  if (node_.exists()) node_.mean(exec, phases, y, node_mean_);
  const ActiveMask<MemorySpace> own_active = in_shard(active);
  const Encode encode = encoding(exec, node_.exists() ? Vector<const float>(node_mean_) : y, own_active);
  const BlockMessage& message = layout_.codec_of_chunks().message();
  if (!layout_.compresses()) {
    const auto scope = phases.enter(exec, Phase::encode);
    encode(message.map());
    return;
  }
  prepare_background();
  Communicator& owners = communicator_->across();
  cut_messages(slices_, message, owners.piece_bytes());
  owners.count_sent(Traffic::background, layout_.cost().bytes(Traffic::compressed));
  under_way_ = std::make_unique<OverlappedReduction>(exec, *background_, Traffic::background, buffers(),
                                                     slices_, ReductionRun::Replies::to_all,
                                                     steps_of(exec, phases, own_active, {}, encode));
  under_way_->ready(exec, {0, layout_.chunks().elements()});
}

void CompressedMean::finish(const ExecutionSpace& exec, Phases& phases) {
  if (under_way_ != nullptr) under_way_->finish(exec, phases);
  under_way_.reset();
  if (node_.exists()) gather_in_node(exec, phases);
}

void CompressedMean::reduce(const ExecutionSpace& exec, const Slice& slice,
                            const ActiveMask<MemorySpace>& active) const {
  ActiveMask<MemorySpace> own_active = active;
  const int rank = layout_.owner();
  const BlockCodec& codec = layout_.codec_of_chunks();
  own_active.offset += layout_.chunks().chunk(rank).begin;
  visit_error(state_.server_error, Side::server, [&](const auto& error) {
    codec.reduce(exec, rank, codec.blocks_in_chunk(rank, slice.elements), layout_.chunks().ranks(), received_,
                 own_active, error, part_of(own_replies_, codec.message().piece(rank)));
  });
}

void CompressedMean::exchange(const ExecutionSpace& exec, Phases& phases, const Vector<const float>& y,
                              const ActiveMask<MemorySpace>& active, const Arrived& arrived) {
  if (node_.exists()) {
    exchange_in_two_levels(exec, phases, y, active, arrived);
    return;
  }
  run(exec, phases, active, arrived, encoding(exec, y, active));
}

void CompressedMean::write_mean(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active,
                                const Vector<float>& values) const {
  decode(exec, active, 0, chunks_of_all().elements(), WriteElement<MemorySpace>{values});
}

void CompressedMean::exchange_accumulated(const ExecutionSpace& exec, Phases& phases,
                                          const ActiveMask<MemorySpace>& active, const Arrived& arrived) {
  if (node_.exists()) {
    exchange_in_two_levels(exec, phases, input_, active, arrived);
    Kokkos::deep_copy(exec, input_, 0.0F);
    return;
  }
  run(exec, phases, active, arrived, [&](const BlockRange& blocks) {
    layout_.codec().encode(exec, blocks, active, worker_error(), outgoing());
  });
}

void CompressedMean::exchange_in_two_levels(const ExecutionSpace& exec, Phases& phases,
                                            const Vector<const float>& y,
                                            const ActiveMask<MemorySpace>& active, const Arrived& arrived) {
  node_.mean(exec, phases, y, node_mean_);
  const ActiveMask<MemorySpace> own_active = in_shard(active);
  run(exec, phases, own_active, {}, encoding(exec, node_mean_, own_active));
  gather_in_node(exec, phases);
  if (!arrived) return;
  const auto scope = phases.enter(exec, Phase::decode);
  arrived({0, chunks_of_all().elements()});
}

void CompressedMean::gather_in_node(const ExecutionSpace& exec, Phases& phases) const {
  node_.gather(exec, phases, bytes_of(replies_),
               [&](const ElementRange& shard) { return layout_.codec().message().piece(shard); });
}

void CompressedMean::scale_errors(const ExecutionSpace& exec, float factor) const {
  for (const Error& kept : {state_.worker_error, state_.server_error}) {
    const auto& error = std::get<Vector<float>>(kept);
    for_each_element("kadam::CompressedMean::scale_errors", exec, static_cast<std::int64_t>(error.extent(0)),
                     Multiply{factor}, updates(error));
  }
}

void CompressedMean::add_owed(const ExecutionSpace& exec, const Vector<float>& target) const {
  const auto add = [&](std::int64_t begin, int times, const Vector<float>& error) {
    const auto count = static_cast<std::int64_t>(error.extent(0));
    const auto part = Kokkos::subview(target, Kokkos::make_pair(begin, begin + count));
    for_each_element("kadam::CompressedMean::add_owed", exec, count, AddMultiple{static_cast<float>(times)},
                     reads(error), updates(part));
  };
  // In two levels an error is that of a node, and lies on one of its ranks.
  const std::int64_t shard = node_.shard().begin;
  add(shard, layout_.node().ranks(), worker_error());
  if (!layout_.compresses()) return;
  add(shard + layout_.chunks().chunk(layout_.owner()).begin,
      layout_.node().ranks() * layout_.chunks().ranks(), std::get<Vector<float>>(state_.server_error));
}

void CompressedMean::describe_numbers(StateFields& fields) {
  // A state with errors in float32 has not rounded any.
  if (layout_.errors() != NumberFormat::float32) fields.number_if_there("errors_rounded", exchanges_);
}

void CompressedMean::describe_state(const ExecutionSpace& exec, StateFields& fields) const {
  using IfMissing = StateVector::IfMissing;
  const std::int64_t d = chunks_of_all().elements();
  const ElementRange& shard = node_.shard();
  const Vector<float> worker = as_floats(exec, state_.worker_error, fields.saves());
  fields.vector("worker_error", worker, {d, shard, layout_.chunks().ranks(), layout_.owner()},
                IfMissing::zero);
  if (!layout_.compresses()) {
    fields.vector("server_error", worker, {d, shard, 1, 0}, IfMissing::add);
    return;
  }
  const ElementRange own = layout_.chunks().chunk(layout_.owner());
  fields.vector("server_error", as_floats(exec, state_.server_error, fields.saves()),
                {d, {shard.begin + own.begin, shard.begin + own.end}, 1, 0}, IfMissing::zero);
}

void CompressedMean::adopt_state(const ExecutionSpace& exec, const StateFields& fields) const {
  if (layout_.errors() == NumberFormat::float32) return;
  for (const auto& [name, error] :
       {std::pair("worker_error", &state_.worker_error), std::pair("server_error", &state_.server_error)}) {
    // To the nearest: what was saved of bf16 comes back to the bit.
    write_copy<ExecutionSpace, MemorySpace>(exec, fields.vector(name),
                                            HalfCopy<MemorySpace>(std::get<Vector<Bfloat16>>(*error)));
  }
}

void CompressedMean::describe_message(StateFields& fields) const {
  fields.equal_bytes("message", replies_);
}

double CompressedMean::squared_error(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const {
  const double own = std::visit(
      [&](const auto& error) {
        using Square = SquareOf<MemorySpace, typename std::decay_t<decltype(error)>::non_const_value_type>;
        return ordered_sum(exec, layout_.chunks().elements(), Square{error}, space);
      },
      state_.worker_error);
  return layout_.node().ranks() * own;
}

}  // namespace kadam
