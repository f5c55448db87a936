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

/// What must be the same for StateBytes to mean the same.
struct Arrangement {
  int ranks = 1;
  int ranks_per_node = 1;
  std::string options;

  [[nodiscard]] static Arrangement of(const Optimizer& optimizer);
  friend bool operator==(const Arrangement&, const Arrangement&) = default;
};

/// Numbers, and places of vectors, are words with these before their names; so are the program's own.
inline const std::string number_prefix = "number.";
inline const std::string place_prefix = "place.";
inline const std::string program_prefix = "program.";

/// The words of a state that say whose it is: optimizer, model, options, rank.
[[nodiscard]] io::Metadata identity_of(const Optimizer& optimizer);

/// The vectors of a state that are saved, common parameters included.
[[nodiscard]] std::vector<StateVector> saved_vectors(const StateFields& state);

/// What one rank saves of a state: words, and tensors of float32 and bytes.
struct StatePart {
  io::Metadata words;  ///< whose it is, its numbers, where vectors lie among the ranks, the program's words
  std::vector<io::StoredTensor> tensors;
};

/// The same, and where the tensors lie now.
struct LivePart : StatePart {
  std::vector<Vector<std::byte>> bytes;  ///< of the tensors
};

/// This rank's own vectors, and its part of what several hold: a chunk for each of them. Valid as long as the
/// state is.
[[nodiscard]] LivePart part_to_save(const Optimizer& optimizer, const StateFields& state,
                                    const ProgramState& program);

/// The parts of all ranks, one behind the other: what they say. Where their bytes are, derived classes know.
class StoredState : public StateSource {
 public:
  [[nodiscard]] const std::string& algorithm() const override { return algorithm_; }
  [[nodiscard]] bool has_same_arrangement() const override { return same_arrangement_; }
  [[nodiscard]] bool holds(const std::string& vector) const override { return pieces_.contains(vector); }
  bool read(const StateNumber& number) override;
  using StateSource::read;
  void pass_over(const std::string& vector) override { read_.insert(vector); }

  [[nodiscard]] const ProgramState& program() const { return program_; }
  /// Throws std::runtime_error if there are vectors that nobody has asked for.
  void require_all_read() const;

 protected:
  /// Some elements of one copy of a vector: a tensor of a part.
  struct Piece {
    std::size_t part = 0;
    Placement placement;
    io::TensorType type = io::TensorType::f32;
  };
  /// Elements that lie in one piece.
  struct Run {
    const Piece* piece = nullptr;
    ElementRange range;
  };

  /// The parts of the ranks, in their order, one call for each; `of_part` is what messages call it. Errors:
  /// std::runtime_error where it is not of this model, or lacks something.
  void take(const StatePart& part, const std::string& of_part, std::size_t parts, const Optimizer& optimizer);
  /// Null if there is none. Errors: std::runtime_error for another type or length.
  [[nodiscard]] const std::vector<Piece>* pieces_for(const std::string& name, const Placement& wanted,
                                                     io::TensorType type);
  /// Elements [range) of one copy, in their order, each as far as a piece reaches.
  /// Errors: std::runtime_error if some are nowhere.
  [[nodiscard]] std::vector<Run> runs_of(const std::string& name, const std::vector<Piece>& pieces, int copy,
                                         const ElementRange& range) const;
  /// Writes values, or adds them to what is there, as vector.if_missing says.
  static void put(const ExecutionSpace& exec, const StateVector& vector, const std::vector<float>& values);

  /// What messages call all of it.
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

/// The sum of copies, in their order and in double, divided by their number: what counts of them.
class MeanOfCopies {
 public:
  explicit MeanOfCopies(std::size_t elements) : sum_(elements, 0.0) {}
  void add(std::span<const float> copy);
  [[nodiscard]] std::vector<float> mean(int copies) const;

 private:
  std::vector<double> sum_;
};

}  // namespace kadam::checkpoint
