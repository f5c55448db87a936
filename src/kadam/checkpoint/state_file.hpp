// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/manifest.hpp>
#include <kadam/checkpoint/stored_state.hpp>

#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace kadam::checkpoint {

/// The name of the file with one rank's part of the state: "state-2-of-4.safetensors".
[[nodiscard]] std::string state_file_name(int rank, int ranks);

/// Writes this rank's part of a state into a file in `folder`: its tensors, with its words as metadata.
/// Returns the entry of the file in the manifest. Waits for exec. Errors: std::runtime_error if it cannot be
/// written.
[[nodiscard]] ManifestFile write_state_file(const ExecutionSpace& exec, const std::filesystem::path& folder,
                                            const Optimizer& optimizer, const StateFields& state,
                                            const ProgramState& program);

/// The state in the files of a checkpoint. Each rank reads the elements that it needs: reads are not
/// collective.
class StateFiles final : public StoredState {
 public:
  /// Reads the headers of all files. Errors: std::runtime_error that names the file.
  StateFiles(const std::filesystem::path& folder, const Manifest& manifest, const Optimizer& optimizer);

  using StoredState::read;
  bool read(const ExecutionSpace& exec, const StateVector& vector) override;
  bool read(const ExecutionSpace& exec, const StateBytes& bytes) override;

 private:
  [[nodiscard]] std::string whole() const override { return folder_.string(); }
  /// Reads the elements in `range` of one copy, from the files that have them. Shape: into [range] elements,
  /// as bytes.
  void read_copy(const std::string& name, const std::vector<Piece>& pieces, int copy,
                 const ElementRange& range, std::span<std::byte> into) const;

  std::filesystem::path folder_;
  std::vector<std::filesystem::path> files_;  ///< of the ranks, in their order
};

}  // namespace kadam::checkpoint
