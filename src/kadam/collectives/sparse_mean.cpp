// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/sparse_mean.hpp>

#include <Kokkos_Core.hpp>

#include <stdexcept>
#include <string>

namespace kadam {
namespace {

std::int64_t words(std::size_t bytes) {
  return static_cast<std::int64_t>(bytes / sizeof(std::uint32_t));
}

void require_select_block(const SparseOptions& options) {
  if (options.select_block < 0 || options.select_block > SparseMessage::largest_select_block) {
    throw std::invalid_argument(
        "kadam::SparseMean: expected a select_block from 0 (one block) to 65536 elements, got " +
        std::to_string(options.select_block));
  }
}

/// x <- x - residual;  residual <- 0.
void deliver_everything(const ExecutionSpace& exec, const Vector<float>& residual, const Vector<float>& x) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam::SparseMean::deliver_everything", Policy(exec, 0, static_cast<std::int64_t>(x.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        x(i) -= residual(i);
        residual(i) = 0.0F;
      });
}

}  // namespace

SparseMean::SparseMean(const ExecutionSpace& exec, const SparseOptions& options, std::int64_t elements,
                       int ranks, int rank)
    : ranks_(ranks), rank_(rank) {
  require_select_block(options);
  message_ = SparseMessage(elements, options.select_block, options.density);
  if (ranks == 1) return;
  const std::size_t bytes = message_.total_bytes();
  received_pieces_.reserve(static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < static_cast<std::size_t>(ranks); ++r)
    received_pieces_.push_back({r * bytes, bytes});
  received_ = allocate<std::uint32_t>(exec, "kadam::SparseMean::received", words(bytes) * ranks);
  sums_ = allocate_zeros<float>(exec, "kadam::SparseMean::sums", sparse_sum_elements(message_.map()));
}

void SparseMean::deliver(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                         const Vector<float>& residual, const Vector<float>& x) {
  if (message_.map().elements == 0) return;
  if (ranks_ == 1) {
    const auto scope = phases.enter(exec, Phase::decode);
    deliver_everything(exec, residual, x);
  } else {
    deliver_to_all(exec, communicator, phases, residual, x);
  }
}

void SparseMean::deliver_to_all(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                                const Vector<float>& residual, const Vector<float>& x) {
  const std::int64_t own_words = words(message_.total_bytes());
  {
    const auto scope = phases.enter(exec, Phase::encode);
    const Words<MemorySpace> own =
        Kokkos::subview(received_, Kokkos::make_pair(rank_ * own_words, (rank_ + 1) * own_words));
    select_top_k(exec, message_.map(), residual, Selected::becomes_zero, own);
  }
  {
    const auto scope = phases.enter(exec, Phase::exchange);
    communicator.all_gather(exec, Traffic::sparse, bytes_of(received_), received_pieces_);
  }
  const auto scope = phases.enter(exec, Phase::decode);
  const SparseMessages<MemorySpace> messages{message_.map(), received_, ranks_, own_words};
  subtract_mean_of_messages(exec, messages, sums_, x);
}

std::size_t SparseMean::bytes_sent() const {
  return message_.total_bytes() * static_cast<std::size_t>(ranks_ - 1);
}

std::size_t SparseMean::workspace_bytes() const {
  return received_.size() * sizeof(std::uint32_t) + sums_.size() * sizeof(float);
}

}  // namespace kadam
