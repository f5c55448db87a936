// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/pipelined_reduction.hpp>

#include <algorithm>
#include <utility>

namespace kadam {

ReductionRun::ReductionRun(const SlicedChunks& chunks, int rank, Replies replies, Exchange& exchange,
                           const ReductionSteps& steps, std::size_t most_sending)
    : chunks_(chunks),
      rank_(rank),
      ranks_(chunks.ranks()),
      replies_(replies == Replies::to_all),
      exchange_(exchange),
      steps_(steps),
      encoded_(chunks.most() * static_cast<std::size_t>(chunks.ranks()), false),
      most_sending_(most_sending),
      parts_missing_(chunks.of_chunk(rank).size(), chunks.ranks()) {
  const std::vector<Slice>& own = chunks.of_chunk(rank);
  for (std::size_t s = 0; s < own.size(); ++s) {
    for (int k = 1; k < ranks_; ++k) {
      const int from = (rank_ + ranks_ - k) % ranks_;
      const Piece& first = own[s].received;
      const std::size_t offset =
          first.offset_bytes + static_cast<std::size_t>(from) * chunks.stride_bytes(rank);
      exchange_.receive(0, from, s, {offset, first.bytes}, id_of(from, s));
    }
  }
  missing_ = own.size();
  for (int j = 0; replies_ && j < ranks_; ++j) {
    if (j != rank_) missing_ += chunks.of_chunk(j).size();
  }
}

ReductionRun::State ReductionRun::advance(MayLeave may_leave) {
  collect(exchange_.arrivals(false));
  bool works = !todo_.empty();
  finish_arrived();
  if (may_leave != MayLeave::nothing && reduce_complete()) works = true;
  pass_encoded();
  if (may_leave == MayLeave::everything && next_ < encoded_.size() && may_start_send()) {
    encode_next();
    works = true;
  }
  if (works) return State::working;
  const bool all_left = next_ == encoded_.size();
  return all_left && missing_ == 0 && exchange_.sending() == 0 ? State::done : State::waiting;
}

/// The chunk of slice `place` in the order in which slices leave. Of one number the own chunk comes last:
/// others wait for theirs.
int ReductionRun::chunk_at(std::size_t place) const {
  return (rank_ + 1 + static_cast<int>(place % static_cast<std::size_t>(ranks_))) % ranks_;
}

void ReductionRun::pass_encoded() {
  const auto ranks = static_cast<std::size_t>(ranks_);
  while (next_ < encoded_.size() && encoded_[id_of(chunk_at(next_), next_ / ranks)]) ++next_;
}

void ReductionRun::encode_next() {
  const std::size_t number = next_ / static_cast<std::size_t>(ranks_);
  const int chunk = chunk_at(next_);
  ++next_;
  if (number < chunks_.of_chunk(chunk).size()) encode(chunk, number);
}

void ReductionRun::encode(int chunk, std::size_t number) {
  const std::size_t id = id_of(chunk, number);
  if (encoded_[id]) return;
  encoded_[id] = true;
  const Slice& slice = slice_of(chunk, number);
  steps_.encode(chunk, slice);
  if (chunk == rank_) {
    todo_.push_back(id);
    return;
  }
  if (replies_) exchange_.receive(1, chunk, number, slice.sent, encoded_.size() + id);
  exchange_.send(0, chunk, number, slice.sent);
}

void ReductionRun::collect(const std::vector<std::size_t>& arrived) {
  todo_.insert(todo_.end(), arrived.begin(), arrived.end());
}

void ReductionRun::finish_arrived() {
  const auto ranks = static_cast<std::size_t>(ranks_);
  for (const std::size_t id : todo_) {
    const std::size_t number = id / ranks;
    if (number < chunks_.most()) {
      if (--parts_missing_[number] == 0) complete_.push_back(number);
      continue;
    }
    const auto chunk = static_cast<int>(id % ranks);
    --missing_;
    if (steps_.arrived) steps_.arrived(chunk, slice_of(chunk, number - chunks_.most()));
  }
  todo_.clear();
}

/// Reduces the slices of which all messages are there; returns whether there was any.
bool ReductionRun::reduce_complete() {
  const std::size_t before = reduced_;
  while (reduced_ < complete_.size() && may_start_send()) reduce(complete_[reduced_++]);
  return reduced_ > before;
}

void ReductionRun::reduce(std::size_t number) {
  const Slice& slice = slice_of(rank_, number);
  steps_.reduce(slice);
  --missing_;
  if (replies_) exchange_.send_to_others(1, number, slice.sent);
  if (steps_.arrived) steps_.arrived(rank_, slice);
}

void run_reduction(const ExecutionSpace& exec, Phases& phases, ReductionRun& run) {
  for (auto state = run.advance(); state != ReductionRun::State::done; state = run.advance()) {
    if (state != ReductionRun::State::waiting) continue;
    const auto scope = phases.enter(exec, Phase::exchange);
    run.wait();
  }
}

OverlappedReduction::OverlappedReduction(const ExecutionSpace& exec, Communicator& communicator,
                                         Traffic traffic, const std::array<ExchangeBuffers, 2>& buffers,
                                         const SlicedChunks& slices, ReductionRun::Replies replies,
                                         ReductionSteps steps)
    : exec_(exec),
      vector_(buffers.front().send.data()),
      slices_(slices),
      steps_(std::move(steps)),
      exchange_(exec, communicator, traffic,
                {buffers.data(), replies == ReductionRun::Replies::to_all ? 2U : 1U}),
      run_(slices, communicator.rank(), replies, exchange_, steps_),
      rank_(communicator.rank()) {}

void OverlappedReduction::ready(const ExecutionSpace& exec, const ElementRange& range) {
  follow(exec, exec_);  // what is sent waits for exec_ alone
  const ElementRange complete = ready_.add(range);
  const int ranks = slices_.ranks();
  for (int k = 1; k <= ranks; ++k) send_complete((rank_ + k) % ranks, range, complete);
  poll();
}

/// Makes what is enqueued on `later` from now on wait for what is enqueued on `earlier` already.
void OverlappedReduction::follow(const ExecutionSpace& earlier, const ExecutionSpace& later) {
  if (earlier == later) return;
  event_.record(earlier);
  event_.hold_back(later);
}

/// Encodes the slices of a chunk that have some of the added elements and lie within the complete ones.
void OverlappedReduction::send_complete(int chunk, const ElementRange& added, const ElementRange& complete) {
  const std::vector<Slice>& slices = slices_.of_chunk(chunk);
  const auto first = std::partition_point(
      slices.begin(), slices.end(), [&](const Slice& slice) { return slice.elements.end <= added.begin; });
  for (auto slice = first; slice != slices.end() && slice->elements.begin < added.end; ++slice) {
    const bool is_complete = slice->elements.begin >= complete.begin && slice->elements.end <= complete.end;
    if (is_complete) run_.encode(chunk, static_cast<std::size_t>(slice - slices.begin()));
  }
}

void OverlappedReduction::poll() {
  while (run_.advance(ReductionRun::MayLeave::replies) == ReductionRun::State::working) continue;
}

void OverlappedReduction::finish(const ExecutionSpace& exec, Phases& phases) {
  follow(exec, exec_);
  run_reduction(exec_, phases, run_);
  follow(exec_, exec);  // kernels that read the result
}

}  // namespace kadam
