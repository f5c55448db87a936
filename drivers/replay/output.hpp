// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/io/npy.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

namespace kadam::replay {

/// The file of trajectories, float32 [ranks][steps][d], written by rank 0 step by step.
///
/// Memory: on rank 0 4 B per parameter and rank, elsewhere 4 B per parameter. Wire: 4 B per parameter, step
/// and rank but rank 0.
class Output {
 public:
  /// Errors: std::runtime_error on rank 0 when the file cannot be opened.
  Output(const std::filesystem::path& path, const Communicator& communicator, std::int64_t steps,
         std::int64_t elements);

  /// Writes the parameters of all ranks after step t = 0, 1, ... own: those of this rank. Collective.
  void write(const ExecutionSpace& exec, Communicator& communicator, std::int64_t t,
             std::span<const float> own);
  /// Completes the file; call after the last step.
  void commit();

 private:
  std::optional<io::NpyWriter> file_;  ///< on rank 0 only
  std::int64_t steps_ = 0;
  Vector<float> own_;
  Vector<float> all_;  ///< [ranks][d] on rank 0
};

}  // namespace kadam::replay
