// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace kadam::checkpoint {

/// The settings that must be equal when a state is saved and when it is read, for its StateBytes to mean the
/// same.
struct Arrangement {
  int ranks = 1;
  int ranks_per_node = 1;
  std::string options;

  [[nodiscard]] static Arrangement of(const Optimizer& optimizer);
  friend bool operator==(const Arrangement&, const Arrangement&) = default;
};

/// Prefixes of names among the words of a state: of its numbers, of the placements of its vectors, and of the
/// program's own words.
inline const std::string number_prefix = "number.";
inline const std::string place_prefix = "place.";
inline const std::string program_prefix = "program.";

/// The words of a state that say what it belongs to: optimizer, model, options, rank.
[[nodiscard]] io::Metadata identity_of(const Optimizer& optimizer);

/// The vectors of a state that are saved, common parameters included.
[[nodiscard]] std::vector<StateVector> saved_vectors(const StateFields& state);

/// What one rank saves of a state: words, and tensors of float32 and bytes.
struct StatePart {
  io::Metadata words;  ///< identity_of(), and numbers, placements and the program's words
  std::vector<io::StoredTensor> tensors;
};

/// A StatePart, and the memory of its tensors.
struct LivePart : StatePart {
  std::vector<Vector<std::byte>> bytes;  ///< of each tensor, in their order
};

/// The part of a state that this rank saves: its own vectors, and one chunk of each vector that several ranks
/// hold. Valid as long as `state` is.
[[nodiscard]] LivePart part_to_save(const Optimizer& optimizer, const StateFields& state,
                                    const ProgramState& program);

/// A saved state that consists of the parts of all ranks. It holds what the parts say; derived classes know
/// where the bytes of their tensors are.
class StoredState : public StateSource {
 public:
  [[nodiscard]] const std::string& algorithm() const override { return algorithm_; }
  [[nodiscard]] bool has_same_arrangement() const override { return same_arrangement_; }
  [[nodiscard]] bool holds(const std::string& vector) const override { return pieces_.contains(vector); }
  bool read(const StateNumber& number) override;
  using StateSource::read;
  void pass_over(const std::string& vector) override { read_.insert(vector); }

  [[nodiscard]] const ProgramState& program() const { return program_; }
  /// Throws std::runtime_error if there are vectors of float32 that were neither read nor passed over.
  void require_all_read() const;

 protected:
  /// A tensor of a part: some elements of one copy of a vector.
  struct Piece {
    std::size_t part = 0;  ///< its number
    Placement placement;
    io::TensorType type = io::TensorType::f32;
  };
  /// Consecutive elements that lie in one piece.
  struct Run {
    const Piece* piece = nullptr;
    ElementRange range;
  };

  /// Takes over what one part says. To be called for the part of each rank, in the order of ranks. of_part:
  /// what messages call this part; parts: how many there are. Errors: std::runtime_error if the part lacks
  /// something, or, for the first part, which alone is compared, if it belongs to another model.
  void take(const StatePart& part, const std::string& of_part, std::size_t parts, const Optimizer& optimizer);
  /// The pieces of the vector `name`, which counts as read from now on; null if there is no such vector.
  /// Errors: std::runtime_error for another type or length.
  [[nodiscard]] const std::vector<Piece>* pieces_for(const std::string& name, const Placement& wanted,
                                                     io::TensorType type);
  /// Divides the elements in `range` of one copy into runs, in the order of elements, each as long as its
  /// piece reaches. Errors: std::runtime_error if some elements are in no piece.
  [[nodiscard]] std::vector<Run> runs_of(const std::string& name, const std::vector<Piece>& pieces, int copy,
                                         const ElementRange& range) const;
  /// Writes values to vector.values, or adds them if vector.if_missing says so. Waits for exec.
  static void put(const ExecutionSpace& exec, const StateVector& vector, const std::vector<float>& values);

  /// What messages call the whole state.
  [[nodiscard]] virtual std::string whole() const = 0;

 private:
  void take_identity(const StatePart& part, const std::string& of_part, const Optimizer& optimizer);

  std::vector<std::string> names_;  ///< of the parts
  std::string algorithm_;
  bool same_arrangement_ = false;
  io::Metadata numbers_;
  ProgramState program_;
  std::map<std::string, std::vector<Piece>> pieces_;
  std::set<std::string> read_;
};

/// The mean of the copies of a vector: their sum, in the order of add() and in double, divided by their
/// number.
class MeanOfCopies {
 public:
  explicit MeanOfCopies(std::size_t elements) : sum_(elements, 0.0) {}
  void add(std::span<const float> copy);
  [[nodiscard]] std::vector<float> mean(int copies) const;

 private:
  std::vector<double> sum_;
};

}  // namespace kadam::checkpoint
