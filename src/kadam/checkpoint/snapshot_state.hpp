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

/// A StatePart in the memory of a rank: the bytes of its tensors, and behind them their description.
class SnapshotPart {
 public:
  SnapshotPart() = default;
  /// Copies the part; in `memory`, which it grows if need be. Waits for exec.
  SnapshotPart(const ExecutionSpace& exec, int rank, const LivePart& part, std::vector<std::byte> memory);
  /// Of another rank's, of which so many bytes are going to arrive in bytes().
  SnapshotPart(int rank, std::size_t bytes, std::size_t tensor_bytes, std::vector<std::byte> memory);

  /// Whose it is.
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] std::size_t tensor_bytes() const { return tensor_bytes_; }
  [[nodiscard]] std::span<std::byte> bytes() { return memory_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return memory_; }
  /// The description, as text.
  [[nodiscard]] std::string description() const;
  /// To be used for another part.
  [[nodiscard]] std::vector<std::byte> take_memory() { return std::move(memory_); }

 private:
  int rank_ = -1;
  std::size_t tensor_bytes_ = 0;
  std::vector<std::byte> memory_;
};

/// A state whose parts lie in the memory of several ranks. All ranks read together what each of them wants:
/// the ranks that have it send it.
class SnapshotState final : public StoredState {
 public:
  /// held: the parts of it that this rank has, two at most; of several who have one the first rank sends it.
  /// ranks: of the snapshot; all of its parts are held by somebody. Collective, as are all reads of vectors.
  SnapshotState(Communicator& communicator, std::span<const SnapshotPart* const> held, int ranks,
                const Optimizer& optimizer);

  using StoredState::read;
  bool read(const ExecutionSpace& exec, const StateVector& vector) override;
  bool read(const ExecutionSpace& exec, const StateBytes& bytes) override;

 private:
  /// Where a part is.
  struct Holder {
    int rank = -1;
    std::size_t place = 0;  ///< in `held` there
  };
  /// What a rank wants of a vector: elements of a copy.
  struct Want {
    int copy = 0;
    ElementRange range;
  };
  /// Bytes that one rank has, and another wants.
  struct Move {
    int from = 0;
    int to = 0;
    std::size_t source = 0;  ///< 0 or 1
    std::size_t at = 0;      ///< in the source
    std::size_t into = 0;    ///< in the target of `to`
    std::size_t bytes = 0;
  };
  using Sources = std::array<std::span<const std::byte>, 2>;

  [[nodiscard]] std::string whole() const override { return "the snapshot"; }
  [[nodiscard]] std::vector<Want> wants_of_all(const Want& own);
  /// Those by which rank `to` gets the elements [range) of a copy, from byte `into` on.
  void add_moves(const std::string& name, const std::vector<Piece>& pieces, int copy,
                 const ElementRange& range, int to, std::size_t into, std::vector<Move>& moves) const;
  /// What this rank wants of its copy into place, while the others read theirs.
  void read_copy(const std::string& name, const std::vector<Piece>& pieces, const Placement& wanted,
                 std::span<std::byte> into);
  [[nodiscard]] std::vector<float> mean_of_copies(const std::string& name, const std::vector<Piece>& pieces,
                                                  const ElementRange& wanted);
  /// All ranks give the same moves.
  void exchange(const std::vector<Move>& moves, const Sources& sources, std::span<std::byte> target);

  Communicator& communicator_;
  Sources held_;
  std::vector<Holder> holders_;                             ///< of the parts
  std::vector<std::map<std::string, std::size_t>> begins_;  ///< bytes of a part before a tensor
};

}  // namespace kadam::checkpoint
