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

/// The layout of a LowBitReduceScatter: its messages, memory and cost, without its buffers.
class LowBitLayout {
 public:
  LowBitLayout() = default;
  /// gradients: the format of the gradients.
  LowBitLayout(const Arrangement& ranks, const AnyQuantiser& quantiser, std::int64_t elements,
               std::int64_t block_elements, NumberFormat gradients = NumberFormat::float32);

  [[nodiscard]] std::int64_t elements() const { return elements_; }
  [[nodiscard]] const NodeLevelLayout& node() const { return node_; }
  /// The codec of the elements that this rank compresses: with one level the whole vector, else its shard.
  [[nodiscard]] const BlockCodec& codec() const { return codec_; }
  [[nodiscard]] const ChunkLayout& chunks() const { return codec_.message().chunks(); }
  /// This rank among the owners of chunks(): the number of its chunk.
  [[nodiscard]] int owner() const { return owner_; }
  /// Whether chunks() have several owners; else nothing is compressed, and no error is kept.
  [[nodiscard]] bool compresses() const { return chunks().ranks() > 1; }

  /// The cost of one mean; the memory is all that LowBitReduceScatter holds.
  [[nodiscard]] Cost cost() const;

 private:
  std::int64_t elements_ = 0;
  NumberFormat gradients_ = NumberFormat::float32;
  CodeFigures code_{};
  NodeLevelLayout node_;
  BlockCodec codec_;
  int owner_ = 0;
};

/// The mean of a vector over ranks; each owner gets only its own chunk of it. The vector is sent with few
/// bits and with a moving-average error, which is itself kept in 8 bits (LoCo, Xie et al. 2024).
///
///   h = g + e;  q = C(h);  e <- C8(beta_e e + (1 - beta_e)(h - q))        every rank
///   chunk j of q goes to rank j, which takes the mean                      all-to-all
///
/// g is gradient_scale times the gradient, C the code of the messages, C8 one of 8 bits; both have a scale
/// for each block of B elements. One rank: the mean is g itself, without error. In two levels, with G ranks
/// in each of N nodes, the exact mean inside the node, in the format of the gradient, takes the place of the
/// gradient; each shard of it is then compressed and exchanged by the N ranks that hold this shard.
///
/// Memory: error d + 4 d/B, messages about 2 d bits/8, mean 4 d/n; in two levels all but the mean divided by
/// G, and dense parts of 4 d + 4 d/G. Wire: (n - 1)/n (d bits/8 + 4 d/B) bytes per rank when chunks are
/// equal; in two levels (N - 1)/N (d bits/8 + 4 d/B)/G, and (G - 1)/G 4 d inside the node. Worked number: d =
/// 2^20, n = 4, B = 256, 4 bits: 405 504 bytes.
class LowBitReduceScatter {
 public:
  LowBitReduceScatter() = default;
  /// The communicator has to outlive this object. error_beta: beta_e. gradients: the format of the gradients.
  LowBitReduceScatter(const ExecutionSpace& exec, const AnyQuantiser& quantiser, Communicator& communicator,
                      std::int64_t elements, std::int64_t block_elements, double error_beta,
                      NumberFormat gradients = NumberFormat::float32);

  /// Returns the own chunk of the mean of gradient_scale times `gradient`, in float32; valid until the next
  /// call. Inactive elements are sent as 0. Collective. Shape: gradient [d]; the result [own chunk].
  [[nodiscard]] Vector<float> operator()(const ExecutionSpace& exec, Phases& phases,
                                         const Numbers<MemorySpace>& gradient, float gradient_scale,
                                         const ActiveMask<MemorySpace>& active);

  /// The result of the last call.
  [[nodiscard]] const Vector<float>& mean() const { return mean_; }
  /// Describes e as float32, and beside it the steps (scales) of its 8-bit codes, so that the same ranks
  /// resume to the last bit. Allocates 4 bytes per element of the shard.
  void describe_state(const ExecutionSpace& exec, StateFields& fields) const;
  /// e <- the error that was read into `fields`, in 8 bits again: with_its_steps with the steps of its codes
  /// that were read beside it, else with new ones. Unless layout().compresses() a rank keeps no e, and
  /// delivers that error with its next mean.
  void adopt_state(const ExecutionSpace& exec, const StateFields& fields, bool with_its_steps);

  /// e <- 0.
  void reset_error(const ExecutionSpace& exec) const;
  /// |e|^2 times the ranks of a node, 1 with one level. Its mean over ranks is the mean of the squared error
  /// over the ranks or, in two levels, the nodes that compress. Waits for exec.
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
  Vector<std::byte> node_mean_;  ///< [shard], with two levels
  Words<MemorySpace> messages_;
  Words<MemorySpace> received_;
  Vector<float> mean_;
  Vector<float>
      owed_;  ///< e of a checkpoint of several ranks, until one rank alone has delivered it; else empty
};

}  // namespace kadam
