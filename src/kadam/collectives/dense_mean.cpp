// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/kernels/ordered_mean.hpp>

#include <array>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace kadam {
namespace {

/// Numbers in a buffer that serves several formats.
template <Number T>
Vector<T> numbers_in(const Vector<std::byte>& buffer, std::int64_t elements) {
  using Unmanaged = Kokkos::View<T*, MemorySpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  return Unmanaged(reinterpret_cast<T*>(buffer.data()), static_cast<std::size_t>(elements));
}

}  // namespace

DenseMean::DenseMean(const ExecutionSpace& exec, const ChunkLayout& chunks, int rank, NumberFormat widest)
    : chunks_(chunks), rank_(rank), own_(chunks.chunk(rank)) {
  if (chunks.ranks() == 1) return;
  const auto bytes = static_cast<std::int64_t>(bytes_per_number(widest));
  parts_ = allocate<std::byte>(exec, "kadam::DenseMean::parts", bytes * own_.elements() * chunks.ranks());
  mean_ = allocate<std::byte>(exec, "kadam::DenseMean::mean", bytes * chunks.elements());
}

Vector<const float> DenseMean::operator()(const ExecutionSpace& exec, Communicator& communicator,
                                          Phases& phases, const Vector<const float>& values,
                                          Traffic traffic) {
  return mean_of(exec, communicator, phases, values, traffic, nullptr);
}

Numbers<MemorySpace> DenseMean::of_gradient(const ExecutionSpace& exec, Communicator& communicator,
                                            Phases& phases, const Numbers<MemorySpace>& gradient) {
  Numbers<MemorySpace> mean;
  gradient.visit([&](const auto& values) {
    mean = mean_of(exec, communicator, phases, values, Traffic::dense, std::exchange(early_, nullptr));
  });
  return mean;
}

void DenseMean::gradient_ready(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                               const Numbers<MemorySpace>& gradient, const ElementRange& range) {
  if (chunks_.ranks() == 1) return;
  gradient.visit([&](const auto& values) {
    if (early_ == nullptr) early_ = start(exec, communicator, phases, values, Traffic::dense);
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
                                   const Vector<const T>& values, Traffic traffic,
                                   std::unique_ptr<OverlappedReduction> run) {
  if (chunks_.ranks() == 1) return values;
  if (run == nullptr) run = start(exec, communicator, phases, values, traffic);
  run->finish(exec, phases);
  return numbers_in<T>(mean_, chunks_.elements());
}

template <Number T>
std::unique_ptr<OverlappedReduction> DenseMean::start(const ExecutionSpace& exec, Communicator& communicator,
                                                      Phases& phases, const Vector<const T>& values,
                                                      Traffic traffic) {
  if (mean_.size() < sizeof(T) * static_cast<std::size_t>(chunks_.elements())) {
    throw std::logic_error("kadam::DenseMean: made for 16 bits, asked for the mean of a float32 vector");
  }
  const std::int64_t own = own_.elements();
  const Vector<T> parts = numbers_in<T>(parts_, own * chunks_.ranks());
  const Vector<T> mean = numbers_in<T>(mean_, chunks_.elements());
  const auto part_of = [](const auto& all, std::int64_t first, const Slice& slice) {
    return Kokkos::subview(all, Kokkos::make_pair(first, first + slice.elements.elements()));
  };
  // They are used after this call has returned: everything by value.
  ReductionSteps steps;
  steps.encode = [=, this](int chunk, const Slice& slice) {
    if (chunk != rank_) return;
    const std::int64_t in_chunk = slice.elements.begin - own_.begin;
    Kokkos::deep_copy(exec, part_of(parts, rank_ * own + in_chunk, slice),
                      part_of(values, slice.elements.begin, slice));
  };
  steps.reduce = [=, this, &phases](const Slice& slice) {
    const auto scope = phases.enter(exec, Phase::decode);
    const std::int64_t in_chunk = slice.elements.begin - own_.begin;
    const Vector<T> first_parts = Kokkos::subview(parts, Kokkos::make_pair(in_chunk, own * chunks_.ranks()));
    const Vector<T> out = part_of(mean, slice.elements.begin, slice);
    ordered_mean<ExecutionSpace, MemorySpace>(exec, slice.elements.elements(), chunks_.ranks(), own,
                                              first_parts, out);
  };
  SlicedChunks& slices = std::is_same_v<T, float> ? float32_slices_ : half_slices_;
  cut_numbers<T>(slices, chunks_, communicator.piece_bytes());
  const std::array<Lane, 2> lanes = {Lane{bytes_of(values), bytes_of(parts)},
                                     Lane{bytes_of(mean), bytes_of(mean)}};
  return std::make_unique<OverlappedReduction>(exec, communicator, traffic, lanes, slices, std::move(steps));
}

void DenseMean::reserve_staging(Communicator& communicator) const {
  communicator.reserve_staging(0, mean_.size(), parts_.size());
  communicator.reserve_staging(1, mean_.size(), mean_.size());
}

std::size_t DenseMean::bytes_sent(const ChunkLayout& chunks, int rank, NumberFormat format) {
  const auto elements = static_cast<std::size_t>(chunks.elements());
  const auto own = static_cast<std::size_t>(chunks.chunk(rank).elements());
  const auto others = static_cast<std::size_t>(chunks.ranks() - 1);
  return bytes_per_number(format) * (elements - own + others * own);
}

}  // namespace kadam
