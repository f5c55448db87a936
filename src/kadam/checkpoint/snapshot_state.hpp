// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/checkpoint/stored_state.hpp>
#include <kadam/comm/communicator.hpp>

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace kadam::checkpoint {

/// A rank's part of a state in memory: the bytes of its tensors, and behind them their description.
class SnapshotPart {
 public:
  SnapshotPart() = default;
  /// Copies a part of this rank. memory: used for the copy, and enlarged if need be. Waits for exec.
  SnapshotPart(const ExecutionSpace& exec, int rank, const LivePart& part, std::vector<std::byte> memory);
  /// Makes room for the part of another rank, which is then received into bytes(). bytes: its length, of
  /// which tensor_bytes are tensors; memory: used for it.
  SnapshotPart(int rank, std::size_t bytes, std::size_t tensor_bytes, std::vector<std::byte> memory);

  /// The rank whose part it is.
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] std::size_t tensor_bytes() const { return tensor_bytes_; }
  [[nodiscard]] std::span<std::byte> bytes() { return memory_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return memory_; }
  /// The words of the part and the list of its tensors, as text (JSON).
  [[nodiscard]] std::string description() const;
  /// Gives its memory away, to be used for another part.
  [[nodiscard]] std::vector<std::byte> take_memory() { return std::move(memory_); }

 private:
  int rank_ = -1;
  std::size_t tensor_bytes_ = 0;
  std::vector<std::byte> memory_;
};

/// A state whose parts lie in the memory of several ranks. All ranks read a vector together: each says which
/// elements it needs, and the ranks that hold these elements send them.
class SnapshotState final : public StoredState {
 public:
  /// held: the parts of the snapshot that this rank holds, two at most, which must outlive this. If several
  /// ranks hold a part, the first of them sends it. ranks: number of ranks that took the snapshot; each of
  /// their parts must be held by some rank. Collective, as are all reads of vectors.
  SnapshotState(Communicator& communicator, std::span<const SnapshotPart* const> held, int ranks,
                const Optimizer& optimizer);

  using StoredState::read;
  bool read(const ExecutionSpace& exec, const StateVector& vector) override;
  bool read(const ExecutionSpace& exec, const StateBytes& bytes) override;

 private:
  /// The rank that sends a part.
  struct Holder {
    int rank = -1;
    std::size_t place = 0;  ///< of the part in `held` of that rank
  };
  /// The elements of a vector that a rank needs: some of one copy.
  struct Want {
    int copy = 0;
    ElementRange range;
  };
  /// Bytes of a source on rank `from` that rank `to` needs; both may be the same rank.
  struct Move {
    int from = 0;
    int to = 0;
    std::size_t source = 0;  ///< which of the two sources of `from`
    std::size_t at = 0;      ///< in the source
    std::size_t into = 0;    ///< in the target of `to`
    std::size_t bytes = 0;
  };
  using Sources = std::array<std::span<const std::byte>, 2>;

  [[nodiscard]] std::string whole() const override { return "the snapshot"; }
  /// The wants of all ranks, in their order. Collective.
  [[nodiscard]] std::vector<Want> wants_of_all(const Want& own);
  /// Adds the moves by which rank `to` gets the elements in `range` of a copy, from byte `into` of its target
  /// on.
  void add_moves(const std::string& name, const std::vector<Piece>& pieces, int copy,
                 const ElementRange& range, int to, std::size_t into, std::vector<Move>& moves) const;
  /// Reads the elements that this rank needs of a copy, while the other ranks read those that they need.
  /// Collective.
  void read_copy(const std::string& name, const std::vector<Piece>& pieces, const Placement& wanted,
                 std::span<std::byte> into);
  /// The elements in `wanted` of the mean of all copies. Collective.
  [[nodiscard]] std::vector<float> mean_of_copies(const std::string& name, const std::vector<Piece>& pieces,
                                                  const ElementRange& wanted);
  /// Carries out the moves, which are the same on all ranks, from sources to targets. Collective.
  void exchange(const std::vector<Move>& moves, const Sources& sources, std::span<std::byte> target);

  Communicator& communicator_;
  Sources held_;
  std::vector<Holder> holders_;                             ///< of each part
  std::vector<std::map<std::string, std::size_t>> begins_;  ///< of each part: where a tensor begins, in bytes
};

}  // namespace kadam::checkpoint
