// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/ordered_reduction.hpp>
#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <kadam/cost/cost.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/numbers.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace kadam {

/// The layout of a NodeLevel: its messages, memory and cost, without its buffers.
class NodeLevelLayout {
 public:
  NodeLevelLayout() = default;
  /// widest: of the formats that means will have, the one with the most bytes.
  NodeLevelLayout(const Arrangement& ranks, std::int64_t elements,
                  NumberFormat widest = NumberFormat::float32);

  /// g, the ranks of a node; 1 with one level.
  [[nodiscard]] int ranks() const { return shards_.ranks(); }
  /// Whether there are two levels.
  [[nodiscard]] bool exists() const { return ranks() > 1; }
  /// l, the place of this rank in its node: it exchanges shard l.
  [[nodiscard]] int place() const { return place_; }
  [[nodiscard]] NumberFormat widest() const { return widest_; }
  /// Whether Communicator::collectives() makes the means, which then need no memory for parts.
  [[nodiscard]] bool by_library() const { return by_library_; }
  /// Chunk l of this layout is shard l.
  [[nodiscard]] const ChunkLayout& shards() const { return shards_; }
  /// The shard that this rank exchanges with other nodes.
  [[nodiscard]] const ElementRange& shard() const { return shard_; }

  /// The messages of this rank in one mean inside the node.
  [[nodiscard]] Transfer mean(NumberFormat format = NumberFormat::float32) const;
  /// The messages of this rank in one gather, to which its own piece contributes own_bytes.
  [[nodiscard]] Transfer gather(std::size_t own_bytes) const;
  /// Adds the mean inside the node to `cost`: its transfer before all others, and its work and parts unless
  /// by_library(). Does nothing with one level.
  void precede(NumberFormat format, Cost& cost) const;
  /// precede(), and the transfer of the gather behind all others. gathered_bytes: of the own piece.
  void surround(NumberFormat format, std::size_t gathered_bytes, Cost& cost) const;

 private:
  ChunkLayout shards_;
  ElementRange shard_;
  int place_ = 0;
  NumberFormat widest_ = NumberFormat::float32;
  bool by_library_ = false;
};

/// The dense level of an exchange in two levels, between the g ranks of a node: mean() comes before, and
/// gather() after, the exchange between the ranks that have the same place in their nodes.
///
///   mean     place l of the node gets shard l of the mean over its ranks      dense reduce-scatter
///   gather   every place sends the result for its shard to the others         all-gather
///
/// Shard l consists of the chunks of all ranks with place l (Arrangement). With one level the shard is the
/// whole vector, and mean() and gather() are not to be called. Both go by messages or, between devices, by
/// Communicator::collectives(), which may sum in another order.
///
/// Memory: 4 d for the parts of a mean that goes by messages. Wire: (g - 1)/g 4 d bytes per rank for a mean,
/// half of it in 16 bits, and (g - 1) times the own piece for a gather; all of it stays inside the node.
/// Worked number: d = 1024, g = 2: 2048 bytes for a mean.
class NodeLevel {
 public:
  NodeLevel() = default;
  /// The communicator has to outlive this object; layout: made with its arrangement.
  NodeLevel(const ExecutionSpace& exec, Communicator& communicator, const NodeLevelLayout& layout);

  [[nodiscard]] const NodeLevelLayout& layout() const { return layout_; }
  [[nodiscard]] bool exists() const { return layout_.exists(); }
  [[nodiscard]] const ElementRange& shard() const { return layout_.shard(); }

  /// out <- this rank's shard of the mean over the node. Collective. Shape: values [d], out [shard]. Errors:
  /// std::logic_error for a format wider than that of the layout.
  template <Number T>
  void mean(const ExecutionSpace& exec, Phases& phases, const Vector<const T>& values, const Vector<T>& out) {
    if (layout_.by_library()) {
      mean_by_library(exec, phases, values, bytes_of(out));
      return;
    }
    reduction_(exec, communicator_->node(), phases, Traffic::node, values, out,
               OrderedReduction::Replies::none);
  }

  using PieceOf = std::function<Piece(const ElementRange&)>;
  /// Fills buffer with the pieces of the node's ranks: piece_of(shard l) is the piece that comes from place
  /// l; the own one lies there already. Collective.
  void gather(const ExecutionSpace& exec, Phases& phases, std::span<std::byte> buffer,
              const PieceOf& piece_of) const;

 private:
  void mean_by_library(const ExecutionSpace& exec, Phases& phases, const Numbers<MemorySpace>& values,
                       std::span<std::byte> out) const;
  [[nodiscard]] std::vector<Piece> pieces(const PieceOf& piece_of) const;

  NodeLevelLayout layout_;
  Communicator* communicator_ = nullptr;
  OrderedReduction reduction_;
};

}  // namespace kadam
