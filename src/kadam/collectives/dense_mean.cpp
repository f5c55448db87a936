// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/kernels/ordered_mean.hpp>

#include <stdexcept>
#include <type_traits>

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
  if (widest == NumberFormat::float32) float32_pieces_ = pieces_of(sizeof(float));
  half_pieces_ = pieces_of(sizeof(std::uint16_t));
  const auto bytes = static_cast<std::int64_t>(bytes_per_number(widest));
  parts_ = allocate<std::byte>(exec, "kadam::DenseMean::parts", bytes * own_.elements() * chunks.ranks());
  mean_ = allocate<std::byte>(exec, "kadam::DenseMean::mean", bytes * chunks.elements());
}

DenseMean::Pieces DenseMean::pieces_of(std::size_t number_bytes) const {
  Pieces pieces;
  const std::size_t own_bytes = static_cast<std::size_t>(own_.elements()) * number_bytes;
  for (int r = 0; r < chunks_.ranks(); ++r) {
    const ElementRange chunk = chunks_.chunk(r);
    pieces.chunks.push_back({static_cast<std::size_t>(chunk.begin) * number_bytes,
                             static_cast<std::size_t>(chunk.elements()) * number_bytes});
    pieces.parts.push_back({static_cast<std::size_t>(r) * own_bytes, own_bytes});
  }
  return pieces;
}

Vector<const float> DenseMean::operator()(const ExecutionSpace& exec, Communicator& communicator,
                                          Phases& phases, const Vector<const float>& values,
                                          Traffic traffic) {
  return mean_of(exec, communicator, phases, values, traffic);
}

Numbers<MemorySpace> DenseMean::of_gradient(const ExecutionSpace& exec, Communicator& communicator,
                                            Phases& phases, const Numbers<MemorySpace>& gradient) {
  Numbers<MemorySpace> mean;
  gradient.visit(
      [&](const auto& values) { mean = mean_of(exec, communicator, phases, values, Traffic::dense); });
  return mean;
}

template <Number T>
Vector<const T> DenseMean::mean_of(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                                   const Vector<const T>& values, Traffic traffic) {
  if (chunks_.ranks() == 1) return values;
  if (mean_.size() < sizeof(T) * static_cast<std::size_t>(chunks_.elements())) {
    throw std::logic_error("kadam::DenseMean: made for 16 bits, asked for the mean of a float32 vector");
  }
  const Pieces& pieces = std::is_same_v<T, float> ? float32_pieces_ : half_pieces_;
  const Vector<T> parts = numbers_in<T>(parts_, own_.elements() * chunks_.ranks());
  const Vector<T> mean = numbers_in<T>(mean_, chunks_.elements());
  {
    const auto scope = phases.enter(exec, Phase::exchange);
    communicator.all_to_all(exec, traffic, bytes_of(values), pieces.chunks, bytes_of(parts), pieces.parts);
  }
  {
    const auto scope = phases.enter(exec, Phase::decode);
    const Vector<T> own = Kokkos::subview(mean, Kokkos::make_pair(own_.begin, own_.end));
    ordered_mean<ExecutionSpace, MemorySpace>(exec, own_.elements(), chunks_.ranks(), own_.elements(), parts,
                                              own);
  }
  const auto scope = phases.enter(exec, Phase::exchange);
  communicator.all_gather(exec, traffic, bytes_of(mean), pieces.chunks);
  return mean;
}

std::size_t DenseMean::bytes_sent(const ChunkLayout& chunks, int rank, NumberFormat format) {
  const auto elements = static_cast<std::size_t>(chunks.elements());
  const auto own = static_cast<std::size_t>(chunks.chunk(rank).elements());
  const auto others = static_cast<std::size_t>(chunks.ranks() - 1);
  return bytes_per_number(format) * (elements - own + others * own);
}

}  // namespace kadam
