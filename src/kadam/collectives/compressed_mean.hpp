// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/block_codec.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/sliced_messages.hpp>
#include <kadam/comm/communicator.hpp>

#include <functional>

namespace kadam {

/// C-AR(y): the mean over ranks, compressed both ways, with an error kept on both sides (1-bit Adam, Tang et
/// al. 2021, algorithm 1).
///
///   h = y + we;  q = C(h);  we <- h - q                     every rank
///   chunk j of q goes to rank j                             all-to-all
///   p = (1/n) sum q_i + se;  r = C(p);  se <- p - r         owner of the chunk
///   r goes to all                                           all-gather
///
/// Every rank, the owner too, then decodes the same bytes of r. Law, per coordinate and from zero errors:
/// sum_t out + (1/n) sum we + se = sum_t (1/n) sum y. One rank: the identity, without error.
///
/// Chunks travel in slices of about Communicator::piece_bytes(): encoding, reducing and decoding some while
/// others are on the wire changes no bit of the result.
///
/// Memory: errors 4 d + 4 d/n, messages about 3 d bits/8. Wire: (n - 1)/n 2 (d bits/8 + 4 d/B) bytes per rank
/// when chunks are equal. Worked number: d = 2^20, n = 4, B = 2048, 1 bit: 199 680 bytes, 31.5 times less
/// than the dense mean.
class CompressedMean {
 public:
  struct State {
    Vector<float> worker_error;  ///< [d], on every rank
    Vector<float> server_error;  ///< [own chunk]
  };

  CompressedMean() = default;
  CompressedMean(const ExecutionSpace& exec, const AnyQuantiser& quantiser, const ChunkLayout& chunks,
                 std::int64_t block_elements, int rank);

  /// Told of elements whose out can be decoded, slice by slice, while others travel. All are told of.
  using Arrived = std::function<void(const ElementRange&)>;

  /// Compresses and exchanges; load(i) gives y of element i. Inactive elements are sent as nothing.
  /// Collective.
  template <class Load>
  void exchange(const ExecutionSpace& exec, Communicator& communicator, Phases& phases, const Load& load,
                const ActiveMask<MemorySpace>& active, const Arrived& arrived = {}) {
    run(exec, communicator, phases, active, arrived, [&](const detail::BlockRange& blocks) {
      codec_.encode(exec, blocks, load, active, state_.worker_error, outgoing());
    });
  }

  /// The same for a y that goes on from the last exchange: load(i, out of element i of that exchange).
  template <class Load>
  void exchange_continued(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                          const Load& load, const ActiveMask<MemorySpace>& active,
                          const Arrived& arrived = {}) {
    exchange(exec, communicator, phases, ContinuedLoad<Load, MemorySpace>{load, replies_}, active, arrived);
  }

  /// The same for a y that has been added to state().worker_error already.
  void exchange_accumulated(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
                            const ActiveMask<MemorySpace>& active, const Arrived& arrived = {}) {
    run(exec, communicator, phases, active, arrived, [&](const detail::BlockRange& blocks) {
      codec_.encode(exec, blocks, active, state_.worker_error, outgoing());
    });
  }

  /// apply(i, out of element i) for every active element in [begin, end), after exchange().
  template <class Apply>
  void decode(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active, std::int64_t begin,
              std::int64_t end, const Apply& apply) const {
    codec_.decode(exec, replies_, active, begin, end, apply);
  }

  /// |out|^2 of the last exchange. Waits for exec.
  [[nodiscard]] double squared_norm(const ExecutionSpace& exec, const ActiveMask<MemorySpace>& active,
                                    const SumSpace<MemorySpace>& space) const {
    return codec_.squared_norm(exec, replies_, active, space);
  }

  /// The kernels' view of the scale blocks.
  [[nodiscard]] const detail::BlockMap& map() const { return codec_.message().map(); }
  /// What this rank sends in one exchange.
  [[nodiscard]] std::size_t bytes_sent() const;
  [[nodiscard]] std::size_t state_bytes() const {
    return (state_.worker_error.size() + state_.server_error.size()) * sizeof(float);
  }
  [[nodiscard]] std::size_t workspace_bytes() const {
    return (messages_.size() + received_.size() + replies_.size()) * sizeof(std::uint32_t);
  }
  [[nodiscard]] State& state() { return state_; }

 private:
  /// One rank decodes what it encoded.
  [[nodiscard]] const Words<MemorySpace>& outgoing() const {
    return chunks_.ranks() == 1 ? replies_ : messages_;
  }
  using Encode = std::function<void(const detail::BlockRange&)>;
  void run(const ExecutionSpace& exec, Communicator& communicator, Phases& phases,
           const ActiveMask<MemorySpace>& active, const Arrived& arrived, const Encode& encode);
  void reduce(const ExecutionSpace& exec, const Slice& slice, const ActiveMask<MemorySpace>& active) const;

  ChunkLayout chunks_;
  int rank_ = 0;
  BlockCodec codec_;
  State state_;
  SlicedChunks slices_;
  Words<MemorySpace> messages_;  ///< codes of h, of all chunks
  Words<MemorySpace> received_;  ///< codes of h of the own chunk, from all ranks
  Words<MemorySpace> replies_;   ///< codes of r, of all chunks
};

}  // namespace kadam
