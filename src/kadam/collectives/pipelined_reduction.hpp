// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/exchange.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace kadam {

/// What a reduction over the owners of chunks does with a slice. Kernels of a step may still run when it
/// returns.
struct ReductionSteps {
  /// Makes this rank's message of a slice of a chunk; the own chunk's lies where the others' are received.
  std::function<void(int chunk, const Slice&)> encode;
  /// All ranks' messages of a slice of the own chunk are there: makes of them what goes to all.
  std::function<void(const Slice&)> reduce;
  /// The owner's message of a slice has come, or been made. May be empty.
  std::function<void(int chunk, const Slice&)> arrived = {};
};

/// Slices of all chunks go to their owners; what the owners make of them goes to all ranks, or to nobody.
///
/// One slice is encoded, another reduced, another decoded, while others travel: the wire waits for the first
/// encode and for the last reduce alone. Slices leave in the order of their number, each rank's next
/// neighbour first, so that no rank is everybody's first target. The order in which slices arrive changes no
/// result: slices have no element in common.
class ReductionRun {
 public:
  enum class Replies : std::uint8_t { to_all, none };
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  /// The first buffers: messages to owners; the second: what comes back. While so many sends are under way,
  /// no other is started: one that starts may be all replies to a slice.
  ReductionRun(const SlicedChunks& chunks, int rank, Replies replies, Exchange& exchange,
               const ReductionSteps& steps, std::size_t most_sending = no_limit);

  enum class State : std::uint8_t { working, waiting, done };
  enum class MayLeave : std::uint8_t { everything, replies, nothing };
  /// Does what can be done without waiting: at most one encode, and all that has arrived.
  State advance(MayLeave may_leave = MayLeave::everything);
  /// Encodes and sends this slice now, unless it has left: for slices that are complete before others. Needs
  /// no order; nothing else is done.
  void encode(int chunk, std::size_t number);
  /// Returns when something has arrived, which the next advance() deals with, or left.
  void wait() { collect(exchange_.arrivals(true)); }

 private:
  [[nodiscard]] int chunk_at(std::size_t place) const;
  void pass_encoded();
  void encode_next();
  void collect(const std::vector<std::size_t>& arrived);
  void finish_arrived();
  [[nodiscard]] bool reduce_complete();
  [[nodiscard]] bool may_start_send() const { return exchange_.sending() < most_sending_; }
  void reduce(std::size_t number);
  /// Of a slice, among all numbers of all chunks.
  [[nodiscard]] std::size_t id_of(int chunk, std::size_t number) const {
    return number * static_cast<std::size_t>(ranks_) + static_cast<std::size_t>(chunk);
  }
  [[nodiscard]] const Slice& slice_of(int chunk, std::size_t number) const {
    return chunks_.of_chunk(chunk)[number];
  }

  const SlicedChunks& chunks_;
  int rank_;
  int ranks_;
  bool replies_;
  Exchange& exchange_;
  const ReductionSteps& steps_;
  std::size_t next_ = 0;       ///< among the slices in the order in which they leave
  std::vector<bool> encoded_;  ///< slices, by number and chunk
  std::size_t missing_ = 0;    ///< slices to be reduced, and slices of others that must come back
  std::size_t most_sending_;
  std::vector<int> parts_missing_;     ///< of each own slice, messages of ranks
  std::vector<std::size_t> todo_;      ///< arrivals that nothing was done about yet
  std::vector<std::size_t> complete_;  ///< own slices without a part missing, in the order of their reduction
  std::size_t reduced_ = 0;            ///< of complete_
};

/// A whole reduction; waits for it.
void run_reduction(const ExecutionSpace& exec, Phases& phases, ReductionRun& run);

/// A reduction that starts while its vector is still computed: slices leave when they are complete.
///
/// In which order they leave, and on which ranks they leave early, changes no result: see ReductionRun. Moved
/// on by calls of ready() and poll() alone. Destroyed before it is finished, it gives up what is under way
/// and waits for nobody.
class OverlappedReduction {
 public:
  /// buffers: as of ReductionRun, the first sending from the vector itself. The slices have to live on.
  OverlappedReduction(const ExecutionSpace& exec, Communicator& communicator, Traffic traffic,
                      const std::array<ExchangeBuffers, 2>& buffers, const SlicedChunks& slices,
                      ReductionRun::Replies replies, ReductionSteps steps);
  OverlappedReduction(const OverlappedReduction&) = delete;
  OverlappedReduction& operator=(const OverlappedReduction&) = delete;

  /// These elements are final once exec has done what is enqueued on it: then the slices leave that are
  /// complete now. Waits for nobody; a later call moves on what exec had not done yet.
  void ready(const ExecutionSpace& exec, const ElementRange& range);
  /// Does what can be done without waiting.
  void poll();
  /// Sends what has not left, all of which is final now, and waits for everything.
  void finish(const ExecutionSpace& exec, Phases& phases);
  /// Where the vector lies.
  [[nodiscard]] const std::byte* vector() const { return vector_; }

 private:
  void follow(const ExecutionSpace& earlier, const ExecutionSpace& later);
  void send_complete(int chunk, const ElementRange& added, const ElementRange& complete);

  ExecutionSpace exec_;
  DeviceEvent event_;
  const std::byte* vector_;
  const SlicedChunks& slices_;
  ReductionSteps steps_;
  Exchange exchange_;
  ReductionRun run_;
  ElementSet ready_;
  int rank_;
};

}  // namespace kadam
