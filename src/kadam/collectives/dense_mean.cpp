// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_mean.hpp>

#include <algorithm>
#include <utility>

namespace kadam {
namespace {

std::int64_t elements_of(const std::vector<ElementRange>& ranges) {
  std::int64_t elements = 0;
  for (const ElementRange& range : ranges) elements += range.elements();
  return elements;
}

}  // namespace

DenseMeanLayout::DenseMeanLayout(const Arrangement& ranks, std::int64_t elements, NumberFormat widest,
                                 Received received)
    : elements_(elements),
      ranks_(ranks.ranks),
      rank_(ranks.rank),
      node_(ranks, elements, widest),
      chunks_(ranks.chunks_of_shard(elements)),
      owner_(ranks.owner),
      widest_(widest),
      is_divided_(received == Received::shard && ranks.ranks > 1),
      received_{0, elements} {
  if (!is_divided_) return;
  received_ = node_.exists() ? node_.shard() : chunks_.chunk(owner_);
  if (!node_.exists()) gather_ = ChunkGather(ranks, elements, sizeof(float));
}

Placement DenseMeanLayout::placement() const {
  if (!is_divided_) return {elements_, received_, 1, 0, ranks_, rank_};
  if (!node_.exists()) return {elements_, received_, 1, 0};
  return {elements_, received_, 1, 0, chunks_.ranks(), owner_};
}

Cost DenseMeanLayout::cost(NumberFormat format) const {
  Cost cost;
  using Replies = OrderedReduction::Replies;
  const std::size_t to_owners = OrderedReduction::bytes_sent(chunks_, owner_, format, Replies::none);
  const std::size_t in_all = OrderedReduction::bytes_sent(chunks_, owner_, format, Replies::to_all);
  cost.transfers = {{Pattern::all_to_all, Traffic::dense, to_owners}};
  if (!is_divided_ || node_.exists())
    cost.transfers.push_back({Pattern::all_gather, Traffic::dense, in_all - to_owners});
  if (ranks_ == 1) return cost;
  cost.work = {{cost::dense_mean, static_cast<double>(chunks_.chunk(owner_).elements() * chunks_.ranks())}};
  const std::size_t widest = bytes_per_number(widest_);
  cost.memory.workspace_bytes = OrderedReduction::memory_bytes(chunks_, owner_, widest_) +
                                widest * static_cast<std::size_t>(received_.elements());
  if (!node_.exists()) return cost;
  const auto shard = static_cast<std::size_t>(node_.shard().elements());
  cost.memory.workspace_bytes += widest * shard;
  if (is_divided_) {
    node_.precede(format, cost);
  } else {
    node_.surround(format, bytes_per_number(format) * shard, cost);
  }
  return cost;
}

Cost DenseMeanLayout::gather_cost() const {
  if (!is_divided_) return {};
  if (!node_.exists()) return gather_.cost();
  Cost cost;
  cost.transfers = {node_.gather(sizeof(float) * static_cast<std::size_t>(received_.elements()))};
  return cost;
}

DenseMean::DenseMean(const ExecutionSpace& exec, Communicator& communicator, std::int64_t elements,
                     NumberFormat widest, Received received)
    : layout_(communicator.arrangement(), elements, widest, received),
      communicator_(&communicator),
      node_(exec, communicator, layout_.node()) {
  if (layout_.ranks() == 1) return;
  across_ = OrderedReduction(exec, layout_.chunks(), layout_.owner(), widest);
  const auto bytes = static_cast<std::int64_t>(bytes_per_number(widest));
  mean_ = allocate<std::byte>(exec, "kadam::DenseMean::mean", bytes * layout_.received().elements());
  if (!node_.exists()) return;
  node_mean_ = allocate<std::byte>(exec, "kadam::DenseMean::node_mean", bytes * node_.shard().elements());
}

Vector<const float> DenseMean::operator()(const ExecutionSpace& exec, Phases& phases,
                                          const Vector<const float>& values) {
  return mean_of(exec, phases, values, nullptr);
}

Numbers<MemorySpace> DenseMean::of_gradient(const ExecutionSpace& exec, Phases& phases,
                                            const Numbers<MemorySpace>& gradient) {
  Numbers<MemorySpace> mean;
  gradient.visit(
      [&](const auto& values) { mean = mean_of(exec, phases, values, std::exchange(early_, nullptr)); });
  return mean;
}

Vector<float> DenseMean::own_memory_of(const Numbers<MemorySpace>& mean) const {
  if (layout_.ranks() == 1 || mean.format() != NumberFormat::float32) return {};
  return numbers_in<float>(mean_, layout_.received().elements());
}

void DenseMean::gather(const ExecutionSpace& exec, Phases& phases, const Vector<float>& x) const {
  if (!layout_.is_divided()) return;
  if (node_.exists()) {
    node_.gather(exec, phases, bytes_of(x),
                 [](const ElementRange& range) { return numbers_piece(range, sizeof(float)); });
    return;
  }
  const auto scope = phases.enter(exec, Phase::exchange);
  layout_.gather()(exec, *communicator_, Traffic::dense, bytes_of(x));
}

double DenseMean::sum_over_shards(double own) const {
  if (!layout_.is_divided()) return own;
  return (node_.exists() ? communicator_->node() : *communicator_).sum_over_ranks(own);
}

void DenseMean::gradient_ready(const ExecutionSpace& exec, Phases& phases,
                               const Numbers<MemorySpace>& gradient, const ElementRange& range) {
  if (layout_.ranks() == 1 || node_.exists()) return;
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& values) {
    if (early_ != nullptr) return;
    early_ = start(exec, phases, Vector<const T>(values));
  });
  early_->ready(exec, range);
}

void DenseMean::poll() {
  if (early_ != nullptr) early_->poll();
}

bool DenseMean::is_under_way_for(const Numbers<MemorySpace>& gradient) const {
  bool same = false;
  gradient.visit([&](const auto& values) { same = early_ && early_->vector() == bytes_of(values).data(); });
  return same;
}

/// Starts the mean over all ranks, in one level.
template <Number T>
std::unique_ptr<OverlappedReduction> DenseMean::start(const ExecutionSpace& exec, Phases& phases,
                                                      const Vector<const T>& values) {
  using Replies = OrderedReduction::Replies;
  return across_.start(exec, *communicator_, phases, Traffic::dense, values,
                       numbers_in<T>(mean_, layout_.received().elements()),
                       layout_.is_divided() ? Replies::none : Replies::to_all);
}

template <Number T>
Vector<const T> DenseMean::mean_of(const ExecutionSpace& exec, Phases& phases, const Vector<const T>& values,
                                   std::unique_ptr<OverlappedReduction> run) {
  if (layout_.ranks() == 1) return values;
  const Vector<T> mean = numbers_in<T>(mean_, layout_.received().elements());
  if (!node_.exists()) {
    if (run == nullptr) run = start(exec, phases, values);
    run->finish(exec, phases);
    return mean;
  }
  const ElementRange& shard = node_.shard();
  const Vector<T> node_mean = numbers_in<T>(node_mean_, shard.elements());
  const std::int64_t first = shard.begin - layout_.received().begin;
  const Vector<T> own = Kokkos::subview(mean, Kokkos::make_pair(first, first + shard.elements()));
  node_.mean(exec, phases, values, node_mean);
  across_(exec, communicator_->across(), phases, Traffic::dense, Vector<const T>(node_mean), own,
          OrderedReduction::Replies::to_all);
  if (layout_.is_divided()) return mean;
  node_.gather(exec, phases, bytes_of(mean),
               [](const ElementRange& range) { return numbers_piece(range, sizeof(T)); });
  return mean;
}

Cost dense_subset_cost(const Arrangement& ranks, const std::vector<ElementRange>& ranges) {
  const std::int64_t elements = elements_of(ranges);
  if (elements == 0) return {};
  Cost cost = DenseMeanLayout(ranks, elements).cost();
  cost.memory.workspace_bytes += static_cast<std::size_t>(elements) * (sizeof(std::int64_t) + sizeof(float));
  return cost;
}

DenseSubset::DenseSubset(const ExecutionSpace& exec, Communicator& communicator,
                         const std::vector<ElementRange>& ranges)
    : ranges_(ranges), elements_(elements_of(ranges)) {
  if (elements_ == 0) return;
  index_ = allocate<std::int64_t>(exec, "kadam::DenseSubset::index", elements_);
  packed_ = allocate<float>(exec, "kadam::DenseSubset::packed", elements_);
  const auto host = Kokkos::create_mirror_view(index_);
  std::size_t k = 0;
  for (const ElementRange& range : ranges) {
    for (std::int64_t i = range.begin; i < range.end; ++i) host(k++) = i;
  }
  Kokkos::deep_copy(exec, index_, host);
  exec.fence("kadam::DenseSubset");
  mean_ = DenseMean(exec, communicator, elements_);
}

std::int64_t DenseSubset::elements_before(std::int64_t i) const {
  std::int64_t before = 0;
  for (const ElementRange& range : ranges_) {
    before += std::max<std::int64_t>(0, std::min(i, range.end) - range.begin);
  }
  return before;
}

}  // namespace kadam
