// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <kadam/kernels/large_top_k.hpp>
#include <kadam/kernels/sparse_accumulate.hpp>
#include <kadam/kernels/support_overlap.hpp>
#include <kadam/kernels/top_k.hpp>
#include <kadam/kernels/two_levels.hpp>
#include <kadam/wire/sparse_message.hpp>

#include <fmt/format.h>

#include <cmath>

namespace kadam::bench {
namespace {

constexpr std::int64_t select_block = 4096;

constexpr double index_bytes = 1.5;  // of 12 bits
constexpr double entry_bytes = 4.0 + index_bytes;

/// Of the cache lines that entries at random places touch, read and written, per element of the vector.
double touched_bytes(double density) {
  constexpr int per_line = 16;
  return 8.0 * (1.0 - std::pow(1.0 - density, per_line));
}

std::string name_of(const char* kernel, double density) {
  return fmt::format("{}, {} %", kernel, 100.0 * density);
}

/// A residual that has been gathered up for a while: what a selection took away is there again.
std::function<void(const ExecutionSpace&)> refill(const Vectors& vectors) {
  return [&vectors](const ExecutionSpace& exec) { fill(exec, vectors.error, 1e-3F, 4); };
}

/// Of every block, and 0 in the residual afterwards.
KernelCase top_k(const Vectors& vectors, double density) {
  const SparseMessage message(vectors.elements, select_block, density);
  return {name_of("top-k per 4096", density),
          4.0,
          vectors.elements,
          Limit::update,
          [&vectors, message](const auto& exec) {
            select_top_k(exec, message.map(), vectors.error, Selected::becomes_zero, vectors.words);
          },
          refill(vectors)};
}

/// What was selected as a message with two levels; of the residual it takes what that says.
KernelCase two_levels(const Vectors& vectors, double density) {
  const SparseMessage selected(vectors.elements, select_block, density);
  const SparseMessage message(vectors.elements, select_block, density, SparseValues::two_levels);
  const ExecutionSpace exec;
  const auto size = static_cast<std::int64_t>(selected.total_bytes() / sizeof(std::uint32_t));
  const Words<MemorySpace> entries = allocate<std::uint32_t>(exec, "kadam-bench::entries", size);
  fill(exec, vectors.error, 1e-3F, 4);
  select_top_k(exec, selected.map(), vectors.error, Selected::stays, entries);
  exec.fence("kadam-bench: selected entries");
  return {name_of("encode_two_levels", density),
          density * (entry_bytes + 14.0 / 8.0) + touched_bytes(density), vectors.elements, Limit::update,
          [&vectors, selected, message, entries](const auto& on) {
            encode_two_levels<ExecutionSpace, MemorySpace>(
                on, selected.map(), entries, message.map(),
                reinterpret_cast<std::uint8_t*>(vectors.words.data()), vectors.error);
          }};
}

/// Of the whole vector.
KernelCase global_top_k(const Vectors& vectors, double density) {
  const SparseMessage message(vectors.elements, 0, density);
  const LargeTopK<ExecutionSpace> select(ExecutionSpace{}, vectors.elements);
  return {name_of("top-k of all", density),
          4.0,
          vectors.elements,
          Limit::read,
          [&vectors, message, select](const auto& exec) {
            select(exec, message.map(), 0, vectors.error, Selected::becomes_zero, vectors.words);
          },
          refill(vectors)};
}

/// Of 8 ranks, each of other elements, and the layout of one.
struct Received {
  Received(const Vectors& vectors, std::int64_t elements, double density)
      : message(elements, select_block, density),
        stride(static_cast<std::int64_t>(message.total_bytes() / sizeof(std::uint32_t))),
        words(allocate_zeros<std::uint32_t>({}, "kadam-bench::messages", ranks * stride)) {
    const ExecutionSpace exec;
    for (int rank = 0; rank < ranks; ++rank) {
      fill(exec, vectors.error, 1e-3F, 10U + static_cast<std::uint32_t>(rank));
      select_top_k(exec, message.map(), vectors.error, Selected::stays, of(rank));
    }
    exec.fence("kadam-bench: sparse messages");
  }

  [[nodiscard]] Words<MemorySpace> of(int rank) const {
    return Kokkos::subview(words, Kokkos::make_pair(rank * stride, (rank + 1) * stride));
  }
  [[nodiscard]] SparseMessages<MemorySpace> all() const { return {message.map(), words, ranks, 4 * stride}; }

  static constexpr int ranks = 8;
  SparseMessage message;
  std::int64_t stride;
  Words<MemorySpace> words;
};

/// x <- x - mean of 8 messages. The bytes are those of one pass over x.
KernelCase accumulate(const Vectors& vectors, const Received& received, double density) {
  const SparseMessages<MemorySpace> messages = received.all();
  const Vector<float> sums("kadam-bench::sums", static_cast<std::size_t>(sparse_sum_elements(
                                                    host_threads(ExecutionSpace{}), messages.map)));
  return {name_of("sparse mean of 8", density), 8.0, vectors.elements, Limit::update,
          [&vectors, messages, sums](const auto& exec) {
            subtract_mean_of_messages(exec, messages, sums, vectors.x);
          }};
}

/// What an owner makes of the messages of its region of d/8 elements: a dense mean.
KernelCase region_mean(const Vectors& vectors, double density) {
  const std::int64_t elements = (vectors.elements + Received::ranks - 1) / Received::ranks;
  const SparseMessages<MemorySpace> messages = Received(vectors, elements, density).all();
  const auto mean = allocate_zeros<float>({}, "kadam-bench::mean", elements);
  return {name_of("owner's sparse mean of 8", density), 4.0 + Received::ranks * density * entry_bytes,
          elements, Limit::update,
          [messages, mean](const auto& exec) { mean_of_messages(exec, messages, mean); }};
}

/// What came back from the owners.
KernelCase subtract(const Vectors& vectors, const Received& received, double density) {
  const ConstWords<MemorySpace> kept = received.of(0);
  return {name_of("subtract_message", density), density * entry_bytes + touched_bytes(density),
          vectors.elements, Limit::update, [&vectors, map = received.message.map(), kept](const auto& exec) {
            subtract_message(exec, map, kept, vectors.x);
          }};
}

/// All that was sent came back.
KernelCase clear(const Vectors& vectors, const Received& received, double density) {
  const ConstWords<MemorySpace> sent = received.of(0);
  return {name_of("clear_kept", density), 2.0 * density * index_bytes + touched_bytes(density),
          vectors.elements, Limit::update, [&vectors, map = received.message.map(), sent](const auto& exec) {
            clear_kept(exec, map, sent, sent, vectors.error);
          }};
}

/// Clears a byte per element, and counts.
KernelCase overlap(const Vectors& vectors, const Received& received, double density) {
  const auto senders = allocate_zeros<std::uint8_t>({}, "kadam-bench::senders", vectors.elements);
  return {name_of("support_overlap of 8", density), 2.0 + Received::ranks * density * entry_bytes,
          vectors.elements, Limit::update, [messages = received.all(), senders](const auto& exec) {
            (void)support_overlap(exec, messages, senders);
          }};
}

}  // namespace

std::vector<KernelCase> sparse_cases(const Vectors& vectors) {
  constexpr double density = 0.01;
  const Received received(vectors, vectors.elements, density);
  return {top_k(vectors, density),           top_k(vectors, 0.001),
          two_levels(vectors, 0.03),         global_top_k(vectors, density),
          global_top_k(vectors, 0.001),      accumulate(vectors, received, density),
          region_mean(vectors, density),     subtract(vectors, received, density),
          clear(vectors, received, density), overlap(vectors, received, density)};
}

}  // namespace kadam::bench
