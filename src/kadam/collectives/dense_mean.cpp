// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/kernels/ordered_mean.hpp>

namespace kadam {

DenseMean::DenseMean(const ExecutionSpace& exec, const ChunkLayout& chunks, int rank)
    : chunks_(chunks), rank_(rank), own_(chunks.chunk(rank)) {
  if (chunks.ranks() == 1) return;
  const auto own_bytes = static_cast<std::size_t>(own_.elements()) * sizeof(float);
  for (int r = 0; r < chunks.ranks(); ++r) {
    const ElementRange chunk = chunks.chunk(r);
    chunk_pieces_.push_back({static_cast<std::size_t>(chunk.begin) * sizeof(float),
                             static_cast<std::size_t>(chunk.elements()) * sizeof(float)});
    part_pieces_.push_back({static_cast<std::size_t>(r) * own_bytes, own_bytes});
  }
  parts_ = allocate<float>(exec, "kadam::DenseMean::parts", own_.elements() * chunks.ranks());
  mean_ = allocate<float>(exec, "kadam::DenseMean::mean", chunks.elements());
}

Vector<const float> DenseMean::operator()(const ExecutionSpace& exec, Communicator& communicator,
                                          Phases& phases, const Vector<const float>& values,
                                          Traffic traffic) {
  if (chunks_.ranks() == 1) return values;
  {
    const auto scope = phases.enter(exec, Phase::exchange);
    communicator.all_to_all(exec, traffic, bytes_of(values), chunk_pieces_, bytes_of(parts_), part_pieces_);
  }
  {
    const auto scope = phases.enter(exec, Phase::decode);
    const Vector<float> own = Kokkos::subview(mean_, Kokkos::make_pair(own_.begin, own_.end));
    ordered_mean<ExecutionSpace, MemorySpace>(exec, own_.elements(), chunks_.ranks(), own_.elements(), parts_,
                                              own);
  }
  const auto scope = phases.enter(exec, Phase::exchange);
  communicator.all_gather(exec, traffic, bytes_of(mean_), chunk_pieces_);
  return mean_;
}

std::size_t DenseMean::bytes_sent(const ChunkLayout& chunks, int rank) {
  const auto elements = static_cast<std::size_t>(chunks.elements());
  const auto own = static_cast<std::size_t>(chunks.chunk(rank).elements());
  const auto others = static_cast<std::size_t>(chunks.ranks() - 1);
  return sizeof(float) * (elements - own + others * own);
}

}  // namespace kadam
