// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/manifest.hpp>
#include <kadam/state/state_fields.hpp>

#include <filesystem>
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

/// "state-2-of-4.safetensors"
[[nodiscard]] std::string state_file_name(int rank, int ranks);

/// Writes what this rank has to write of a state: its own vectors, and its part of what all have in common.
/// Each is a tensor; how it lies among the ranks, the numbers, and the program's words are metadata.
/// Errors: std::runtime_error if it cannot be written.
[[nodiscard]] ManifestFile write_state_file(const ExecutionSpace& exec, const std::filesystem::path& folder,
                                            const Optimizer& optimizer, const StateFields& state,
                                            const ProgramState& program);

/// The state files of a checkpoint.
class StateFiles final : public StateSource {
 public:
  /// Reads all headers. Errors: std::runtime_error that names the file.
  StateFiles(const std::filesystem::path& folder, const Manifest& manifest, const Optimizer& optimizer);

  [[nodiscard]] const std::string& algorithm() const override { return algorithm_; }
  [[nodiscard]] bool has_same_arrangement() const override { return same_arrangement_; }
  [[nodiscard]] bool holds(const std::string& vector) const override { return parts_.contains(vector); }
  bool read(const StateNumber& number) override;
  bool read(const ExecutionSpace& exec, const StateVector& vector) override;
  bool read(const ExecutionSpace& exec, const StateBytes& bytes) override;
  void pass_over(const std::string& vector) override { read_.insert(vector); }

  [[nodiscard]] const ProgramState& program() const { return program_; }
  /// Throws std::runtime_error if there are vectors that nobody has asked for.
  void require_all_read() const;

 private:
  /// Some elements of one copy of a vector.
  struct Part {
    std::size_t file = 0;
    Placement placement;
    io::TensorType type = io::TensorType::f32;
  };

  [[nodiscard]] std::filesystem::path path_of(std::size_t file) const;
  void take_header(std::size_t file, const Optimizer& optimizer);
  void take_identity(const io::TensorFile& file, const Optimizer& optimizer);
  void take_program(const io::TensorFile& file);
  [[nodiscard]] const std::vector<Part>* parts_for(const std::string& name, const Placement& wanted,
                                                   io::TensorType type);
  /// Elements [range) of one copy into place, from whichever files have them.
  void read_copy(const std::string& name, const std::vector<Part>& parts, int copy, const ElementRange& range,
                 std::span<std::byte> into) const;
  [[nodiscard]] std::vector<float> mean_of_copies(const std::string& name, const std::vector<Part>& parts,
                                                  const ElementRange& range) const;

  std::filesystem::path folder_;
  std::vector<ManifestFile> files_;  ///< of the ranks, in their order
  std::string algorithm_;
  bool same_arrangement_ = false;
  io::Metadata numbers_;
  ProgramState program_;
  std::map<std::string, std::vector<Part>> parts_;
  std::set<std::string> read_;
};

}  // namespace kadam::checkpoint
