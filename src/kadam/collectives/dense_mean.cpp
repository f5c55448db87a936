// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_mean.hpp>

#include <utility>

namespace kadam {

DenseMean::DenseMean(const ExecutionSpace& exec, const Communicator& communicator, std::int64_t elements,
                     NumberFormat widest)
    : elements_(elements), ranks_(communicator.size()), node_(exec, communicator, elements, widest) {
  if (ranks_ == 1) return;
  across_ = OrderedReduction(exec, NodeLevel::chunks_of_shard(communicator, elements),
                             communicator.across().rank(), widest);
  const auto bytes = static_cast<std::int64_t>(bytes_per_number(widest));
  mean_ = allocate<std::byte>(exec, "kadam::DenseMean::mean", bytes * elements);
  if (!node_.exists()) return;
  node_mean_ = allocate<std::byte>(exec, "kadam::DenseMean::node_mean", bytes * node_.shard().elements());
}

Vector<const float> DenseMean::operator()(const ExecutionSpace& exec, Communicator& communicator,
                                          Phases& phases, const Vector<const float>& values) {
  return mean_of(exec, communicator, phases, values, nullptr);
}

Numbers<MemorySpace> DenseMean::of_gradient(const ExecutionSpace& exec, Communicator& communicator,
                                            Phases& phases, const Numbers<MemorySpace>& gradient) {
  Numbers<MemorySpace> mean;
  gradient.visit([&](const auto& values) {
    mean = mean_of(exec, communicator, phases, values, std::exchange(early_, nullptr));
  });
  return mean;
}

void DenseMean::gradient_ready(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                               const Numbers<MemorySpace>& gradient, const ElementRange& range) {
  if (ranks_ == 1 || node_.exists()) return;
  gradient.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& values) {
    if (early_ != nullptr) return;
    early_ = across_.start(exec, communicator, phases, Traffic::dense, Vector<const T>(values),
                           numbers_in<T>(mean_, elements_), OrderedReduction::Replies::to_all);
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

template <Number T>
Vector<const T> DenseMean::mean_of(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                                   const Vector<const T>& values, std::unique_ptr<OverlappedReduction> run) {
  if (ranks_ == 1) return values;
  const Vector<T> mean = numbers_in<T>(mean_, elements_);
  constexpr auto to_all = OrderedReduction::Replies::to_all;
  if (!node_.exists()) {
    if (run == nullptr) run = across_.start(exec, communicator, phases, Traffic::dense, values, mean, to_all);
    run->finish(exec, phases);
    return mean;
  }
  const ElementRange& shard = node_.shard();
  const Vector<T> node_mean = numbers_in<T>(node_mean_, shard.elements());
  const Vector<T> own = Kokkos::subview(mean, Kokkos::make_pair(shard.begin, shard.end));
  node_.mean(exec, communicator, phases, values, node_mean);
  across_(exec, communicator.across(), phases, Traffic::dense, Vector<const T>(node_mean), own, to_all);
  node_.gather(exec, communicator, phases, bytes_of(mean),
               [](const ElementRange& range) { return numbers_piece(range, sizeof(T)); });
  return mean;
}

void DenseMean::reserve_staging(Communicator& communicator) const {
  node_.reserve_staging(communicator);
  across_.reserve_staging(communicator.across());
}

std::size_t DenseMean::bytes_sent(const Communicator& communicator, std::int64_t elements,
                                  NumberFormat format) {
  return OrderedReduction::bytes_sent(NodeLevel::chunks_of_shard(communicator, elements),
                                      communicator.across().rank(), format,
                                      OrderedReduction::Replies::to_all);
}

std::size_t DenseMean::bytes_sent(NumberFormat format) const {
  return across_.bytes_sent(format, OrderedReduction::Replies::to_all);
}

std::size_t DenseMean::node_bytes_sent(NumberFormat format) const {
  const auto piece_of = [&](const ElementRange& range) {
    return numbers_piece(range, bytes_per_number(format));
  };
  return node_.mean_bytes_sent(format) + node_.gather_bytes_sent(piece_of);
}

}  // namespace kadam
