// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/io/npy.hpp>
#include <kadam/layout/tensor_layout.hpp>

#include <cstdint>
#include <filesystem>

namespace kadam::replay {

/// Writes a case without an algorithm, as a training goes on: each rank its own gradients, rank 0 the rest.
///
/// Memory: on a device 4 B per parameter of host memory. Disk: 4 B per parameter, step and rank.
class Recording {
 public:
  /// folder: there is one, and all ranks see it. parameters: those that the first gradient is taken at.
  /// Errors: std::runtime_error that names the file.
  Recording(const ExecutionSpace& exec, const std::filesystem::path& folder, const Communicator& communicator,
            const TensorLayout& tensors, const Vector<const float>& parameters, std::int64_t steps);

  /// Writes the gradient of the next step.
  void add(const ExecutionSpace& exec, const Vector<const float>& gradient);
  /// After the last step; without it there is no recording.
  void commit() { gradients_.commit(); }

 private:
  io::NpyWriter gradients_;
  HostVector<float> host_;
  std::int64_t steps_ = 0;  ///< so far
};

}  // namespace kadam::replay
