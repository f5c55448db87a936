// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/ordered_reduction.hpp>
#include <kadam/kernels/ordered_mean.hpp>

#include <array>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace kadam {
namespace {

template <class View>
View part_of(const View& all, std::int64_t first, const Slice& slice) {
  return Kokkos::subview(all, Kokkos::make_pair(first, first + slice.elements.elements()));
}

}  // namespace

OrderedReduction::OrderedReduction(const ExecutionSpace& exec, const ChunkLayout& chunks, int rank,
                                   NumberFormat widest)
    : chunks_(chunks), rank_(rank), own_(chunks.chunk(rank)), widest_bytes_(bytes_per_number(widest)) {
  if (chunks.ranks() == 1) return;
  parts_ = allocate<std::byte>(exec, "kadam::OrderedReduction::parts",
                               static_cast<std::int64_t>(memory_bytes(chunks, rank, widest)));
}

template <Number T>
void OrderedReduction::operator()(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                                  Traffic traffic, const Vector<const T>& values, const Vector<T>& out,
                                  Replies replies) {
  if (chunks_.ranks() == 1) {
    Kokkos::deep_copy(exec, out, values);
    return;
  }
  start(exec, communicator, phases, traffic, values, out, replies)->finish(exec, phases);
}

template <Number T>
std::unique_ptr<OverlappedReduction> OrderedReduction::start(const ExecutionSpace& exec,
                                                             Communicator& communicator, Phases& phases,
                                                             Traffic traffic, const Vector<const T>& values,
                                                             const Vector<T>& out, Replies replies) {
  if (sizeof(T) > widest_bytes_) {
    throw std::logic_error(
        "kadam::OrderedReduction: it was made for numbers of 16 bits and cannot take float32 numbers");
  }
  const std::int64_t own = own_.elements();
  const std::int64_t received = own * chunks_.ranks();
  const Vector<T> parts = numbers_in<T>(parts_, received);
  const std::int64_t origin = replies == Replies::to_all ? 0 : own_.begin;  // of out
  // The steps are called after this function has returned: they capture by value.
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
    const Vector<T> first_parts = Kokkos::subview(parts, Kokkos::make_pair(in_chunk, received));
    ordered_mean<ExecutionSpace, MemorySpace>(exec, slice.elements.elements(), chunks_.ranks(), own,
                                              first_parts,
                                              part_of(out, slice.elements.begin - origin, slice));
  };
  SlicedChunks& slices = std::is_same_v<T, float> ? float32_slices_ : half_slices_;
  cut_numbers<T>(slices, chunks_, communicator.piece_bytes());
  const std::array<ExchangeBuffers, 2> buffers = {ExchangeBuffers{bytes_of(values), bytes_of(parts)},
                                                  ExchangeBuffers{bytes_of(out), bytes_of(out)}};
  return std::make_unique<OverlappedReduction>(exec, communicator, traffic, buffers, slices, replies,
                                               std::move(steps));
}

template void OrderedReduction::operator()(const ExecutionSpace&, Communicator&, Phases&, Traffic,
                                           const Vector<const float>&, const Vector<float>&, Replies);
template std::unique_ptr<OverlappedReduction> OrderedReduction::start(const ExecutionSpace&, Communicator&,
                                                                      Phases&, Traffic,
                                                                      const Vector<const float>&,
                                                                      const Vector<float>&, Replies);
template void OrderedReduction::operator()(const ExecutionSpace&, Communicator&, Phases&, Traffic,
                                           const Vector<const Bfloat16>&, const Vector<Bfloat16>&, Replies);
template std::unique_ptr<OverlappedReduction> OrderedReduction::start(const ExecutionSpace&, Communicator&,
                                                                      Phases&, Traffic,
                                                                      const Vector<const Bfloat16>&,
                                                                      const Vector<Bfloat16>&, Replies);
template void OrderedReduction::operator()(const ExecutionSpace&, Communicator&, Phases&, Traffic,
                                           const Vector<const Float16>&, const Vector<Float16>&, Replies);
template std::unique_ptr<OverlappedReduction> OrderedReduction::start(const ExecutionSpace&, Communicator&,
                                                                      Phases&, Traffic,
                                                                      const Vector<const Float16>&,
                                                                      const Vector<Float16>&, Replies);

std::size_t OrderedReduction::bytes_sent(const ChunkLayout& chunks, int rank, NumberFormat format,
                                         Replies replies) {
  const auto elements = static_cast<std::size_t>(chunks.elements());
  const auto own = static_cast<std::size_t>(chunks.chunk(rank).elements());
  const auto others = static_cast<std::size_t>(chunks.ranks() - 1);
  return bytes_per_number(format) * (elements - own + (replies == Replies::to_all ? others * own : 0));
}

std::size_t OrderedReduction::memory_bytes(const ChunkLayout& chunks, int rank, NumberFormat widest) {
  if (chunks.ranks() == 1) return 0;
  return bytes_per_number(widest) * static_cast<std::size_t>(chunks.chunk(rank).elements() * chunks.ranks());
}

}  // namespace kadam
