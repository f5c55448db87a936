// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/kernels/large_top_k.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/kernels/top_k.hpp>
#include <kadam/wire/sparse_message.hpp>

#include <fmt/format.h>

#include <bench/kernel_case.hpp>
#include <bench/vectors.hpp>

namespace kadam::bench {
namespace {

constexpr std::int64_t select_block = 4096;

/// A residual that has been gathered up for a while: what a selection took away is there again.
std::function<void(const ExecutionSpace&)> refill(const Vectors& vectors) {
  return [&vectors](const ExecutionSpace& exec) { fill(exec, vectors.error, 1e-3F, 4); };
}

/// Of every block, and 0 in the residual afterwards.
KernelCase top_k(const Vectors& vectors, double density) {
  const SparseMessage message(vectors.elements, select_block, density);
  return {fmt::format("top-k per {}, {} %", select_block, 100.0 * density),
          4.0,
          vectors.elements,
          Limit::update,
          [&vectors, message](const auto& exec) {
            select_top_k(exec, message.map(), vectors.error, Selected::becomes_zero, vectors.words);
          },
          refill(vectors)};
}

/// Of the whole vector.
KernelCase global_top_k(const Vectors& vectors, double density) {
  const SparseMessage message(vectors.elements, 0, density);
  const LargeTopK<ExecutionSpace> select(ExecutionSpace{}, vectors.elements);
  return {fmt::format("top-k of all, {} %", 100.0 * density),
          4.0,
          vectors.elements,
          Limit::read,
          [&vectors, message, select](const auto& exec) {
            select(exec, message.map(), 0, vectors.error, Selected::becomes_zero, vectors.words);
          },
          refill(vectors)};
}

/// x <- x - mean of 8 messages, each of other elements. The bytes are those of one pass over x.
KernelCase accumulate(const Vectors& vectors, double density) {
  constexpr int ranks = 8;
  const SparseMessage message(vectors.elements, select_block, density);
  const auto stride = static_cast<std::int64_t>(message.total_bytes() / sizeof(std::uint32_t));
  const Words<MemorySpace> messages("kadam-bench::messages", static_cast<std::size_t>(ranks * stride));
  const ExecutionSpace exec;
  for (int rank = 0; rank < ranks; ++rank) {
    fill(exec, vectors.error, 1e-3F, 10U + static_cast<std::uint32_t>(rank));
    const Words<MemorySpace> own =
        Kokkos::subview(messages, Kokkos::make_pair(rank * stride, (rank + 1) * stride));
    select_top_k(exec, message.map(), vectors.error, Selected::stays, own);
  }
  const Vector<float> sums("kadam-bench::sums",
                           static_cast<std::size_t>(sparse_sum_elements(exec, message.map())));
  exec.fence("kadam-bench: sparse messages");
  const SparseMessages<MemorySpace> received{message.map(), messages, ranks, stride};
  return {fmt::format("sparse mean of {}, {} %", ranks, 100.0 * density), 8.0, vectors.elements,
          Limit::update, [&vectors, received, sums](const auto& space) {
            subtract_mean_of_messages(space, received, sums, vectors.x);
          }};
}

}  // namespace

std::vector<KernelCase> sparse_cases(const Vectors& vectors) {
  return {top_k(vectors, 0.01), top_k(vectors, 0.001), global_top_k(vectors, 0.01),
          global_top_k(vectors, 0.001), accumulate(vectors, 0.01)};
}

}  // namespace kadam::bench
