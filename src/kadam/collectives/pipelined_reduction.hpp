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

/// The functions that a reduction over the owners of chunks calls for each slice. They may return while their
/// kernels still run.
struct ReductionSteps {
  /// Makes this rank's message of a slice of any chunk. One of the own chunk is not sent: encode puts it
  /// where the messages of other ranks are received.
  std::function<void(int chunk, const Slice&)> encode;
  /// Makes the owner's message of a slice of the own chunk, once the messages of all ranks are there.
  std::function<void(const Slice&)> reduce;
  /// Handles the owner's message of a slice: it has come, or this rank has made it. May be empty.
  std::function<void(int chunk, const Slice&)> arrived = {};
};

/// One reduction over the owners of chunks: sends the slices of all chunks to their owners; sends what the
/// owners make of them, the replies, to all ranks or to nobody.
///
/// One slice is encoded, another reduced, another decoded, while others travel: the wire waits for the first
/// encode and for the last reduce alone. Slices leave in the order of their number; among those of the same
/// number the slice for the next rank leaves first, so that no rank is everybody's first target. The order in
/// which slices arrive changes no result: slices have no element in common.
class ReductionRun {
 public:
  enum class Replies : std::uint8_t { to_all, none };
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  /// Announces all receives of messages to this owner. The chunks, the exchange and the steps have to outlive
  /// this object; `rank` owns chunk `rank`. The first buffers of the exchange hold messages to owners, the
  /// second ones replies. most_sending: no send is started while so many are under way; the replies to a
  /// slice are started together.
  ReductionRun(const SlicedChunks& chunks, int rank, Replies replies, Exchange& exchange,
               const ReductionSteps& steps, std::size_t most_sending = no_limit);

  /// working: advance() has done something and may find more; waiting: it can do nothing until a message has
  /// arrived or left; done: the reduction is complete.
  enum class State : std::uint8_t { working, waiting, done };
  /// Which sends advance() may start. replies: of this owner, after reducing; no new slice is encoded.
  enum class MayLeave : std::uint8_t { everything, replies, nothing };
  /// Does what can be done without waiting: handles all that has arrived, and encodes at most one slice.
  State advance(MayLeave may_leave = MayLeave::everything);
  /// Encodes and sends slice `number` of a chunk at once, unless that is done: for slices that are complete
  /// before others. May be called in any order.
  void encode(int chunk, std::size_t number);
  /// Waits until a message has arrived, which the next advance() handles, or has left.
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
  /// The id of a slice: its place in encoded_.
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
  std::vector<int> parts_missing_;     ///< for each slice of the own chunk: ranks whose message is missing
  std::vector<std::size_t> todo_;      ///< ids of arrivals that have not been handled
  std::vector<std::size_t> complete_;  ///< own slices without a part missing, in the order of their reduction
  std::size_t reduced_ = 0;            ///< how many of complete_ are reduced
};

/// Carries out a whole reduction: returns when all its messages have arrived and left. Collective.
void run_reduction(const ExecutionSpace& exec, Phases& phases, ReductionRun& run);

/// A reduction that starts while its vector is still computed: slices leave when they are complete.
///
/// Neither the order in which slices leave nor the ranks on which they leave early change a result: see
/// ReductionRun. Only calls of ready(), poll() and finish() move it on. If it is destroyed before finish(),
/// it gives up what is under way and waits for nobody.
class OverlappedReduction {
 public:
  /// buffers: as for ReductionRun. vector() is the address from which the first ones send. The slices and the
  /// communicator have to outlive this object.
  OverlappedReduction(const ExecutionSpace& exec, Communicator& communicator, Traffic traffic,
                      const std::array<ExchangeBuffers, 2>& buffers, const SlicedChunks& slices,
                      ReductionRun::Replies replies, ReductionSteps steps);
  OverlappedReduction(const OverlappedReduction&) = delete;
  OverlappedReduction& operator=(const OverlappedReduction&) = delete;

  /// Announces that elements `range` are final once exec has done what is enqueued on it, and encodes the
  /// slices that are complete with them. They leave when exec is done. Waits for nobody; a later call moves
  /// on what exec had not done yet.
  void ready(const ExecutionSpace& exec, const ElementRange& range);
  /// Handles arrivals and sends replies, as far as that needs no waiting.
  void poll();
  /// Encodes and sends all other slices, whose elements are now as final as those announced, and waits until
  /// the reduction is done. Kernels that are enqueued on exec afterwards can read the result. Collective.
  void finish(const ExecutionSpace& exec, Phases& phases);
  /// The first byte of the first sending buffer.
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
