// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/block_codec.hpp>
#include <kadam/collectives/node_level.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/collectives/sliced_chunks.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstdint>

namespace kadam {

/// What LowBitReduceScatter exchanges and holds, without its buffers.
class LowBitLayout {
 public:
  LowBitLayout() = default;
  /// gradients: the format that they will have.
  LowBitLayout(const Arrangement& ranks, const AnyQuantiser& quantiser, std::int64_t elements,
               std::int64_t block_elements, NumberFormat gradients = NumberFormat::float32);

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  [[nodiscard]] const NodeLevelLayout& node() const { return node_; }
  /// Of what this rank compresses: with one level the whole vector, else its shard.
  [[nodiscard]] const BlockCodec& codec() const { return codec_; }
  [[nodiscard]] const ChunkLayout& chunks() const { return codec_.message().chunks(); }
  /// This rank among those who own these chunks.
  [[nodiscard]] int owner() const { return owner_; }
  /// Whether there is somebody to send to: else the mean is the gradient itself.
  [[nodiscard]] bool compresses() const { return chunks().ranks() > 1; }

  [[nodiscard]] Cost cost() const;

 private:
  std::int64_t elements_ = 0;
  NumberFormat gradients_ = NumberFormat::float32;
  CodeFigures code_{};
  NodeLevelLayout node_;
  BlockCodec codec_;
  int owner_ = 0;
};

/// The mean of a vector over ranks, each chunk at its owner alone, sent with few bits and with a
/// moving-average error that is itself kept in 8 bits (LoCo, Xie et al. 2024).
///
///   h = g + e;  q = C(h);  e <- C8(beta_e e + (1 - beta_e)(h - q))        every rank
///   chunk j of q goes to rank j, which takes the mean                      all-to-all
///
/// One rank: the vector itself, without error. In two levels, with g ranks in each of N nodes: g is the exact
/// mean inside the node, in the format of the gradient; the rest is done by shards, between the N ranks that
/// hold one. Memory: error d + 4 d/B, messages about 2 d bits/8, mean 4 d/n; in two levels all but the mean
/// divided by g, and dense parts of 4 d + 4 d/g. Wire: (n - 1)/n (d bits/8 + 4 d/B) bytes per rank when
/// chunks are equal; in two levels (N - 1)/N of that over g, and (g - 1)/g 4 d inside the node. Worked
/// number: d = 2^20, n = 4, B = 256, 4 bits: 405 504 bytes.
class LowBitReduceScatter {
 public:
  LowBitReduceScatter() = default;
  /// The communicator has to live on. gradients: the format that they will have.
  LowBitReduceScatter(const ExecutionSpace& exec, const AnyQuantiser& quantiser, Communicator& communicator,
                      std::int64_t elements, std::int64_t block_elements, double error_beta,
                      NumberFormat gradients = NumberFormat::float32);

  /// The mean of gradient_scale times `gradient` over the own chunk, in float32; valid until the next call.
  /// Inactive elements are sent as 0. Collective.
  [[nodiscard]] Vector<float> operator()(const ExecutionSpace& exec, Phases& phases,
                                         const Numbers<MemorySpace>& gradient, float gradient_scale,
                                         const ActiveMask<MemorySpace>& active);

  /// The result of the last call.
  [[nodiscard]] const Vector<float>& mean() const { return mean_; }
  /// e as float32, and its steps to the last bit. Allocates 4 B per element of the shard.
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const;
  /// e of fields that were read, in 8 bits again: with its own steps, or with new ones.
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields, bool with_its_steps);

  /// e <- 0.
  void reset_error(const ExecutionSpace& exec) const;
  /// |e|^2, as a share: its mean over ranks is that over those who compress. Waits for exec.
  [[nodiscard]] double squared_error(const ExecutionSpace& exec, const SumSpace<MemorySpace>& space) const;

  [[nodiscard]] const LowBitLayout& layout() const { return layout_; }

 private:
  void deliver_owed(const ExecutionSpace& exec);
  [[nodiscard]] Numbers<MemorySpace> mean_of_node(const ExecutionSpace& exec, Phases& phases,
                                                  const Numbers<MemorySpace>& gradient);

  LowBitLayout layout_;
  Communicator* communicator_ = nullptr;
  NodeLevel node_;
  double error_beta_ = 0.0;
  ByteError<MemorySpace> error_;
  SlicedChunks slices_;
  Vector<std::byte> node_mean_;  ///< [shard], of two levels
  Words<MemorySpace> messages_;
  Words<MemorySpace> received_;
  Vector<float> mean_;
  Vector<float>
      owed_;  ///< e of a checkpoint of several ranks, until one rank alone has delivered it; else empty
};

}  // namespace kadam
