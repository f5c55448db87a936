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

/// Writes a case without an algorithm during a training: each rank writes its gradients, rank 0 the rest.
///
/// Memory: on a device 4 B per parameter of host memory. Disk: 4 B per parameter, step and rank.
class Recording {
 public:
  /// folder: exists, and all ranks see it. parameters: those at which the first gradient is taken. steps: the
  /// number of steps of the whole training. Errors: std::runtime_error that names the file.
  Recording(const ExecutionSpace& exec, const std::filesystem::path& folder, const Communicator& communicator,
            const TensorLayout& tensors, const Vector<const float>& parameters, std::int64_t steps);

  /// Writes the gradient of the next step.
  void add(const ExecutionSpace& exec, const Vector<const float>& gradient);
  /// Completes the file; call after the last step. Without it there is no recording.
  void commit() { gradients_.commit(); }

 private:
  io::NpyWriter gradients_;
  HostVector<float> host_;
  std::int64_t steps_ = 0;  ///< recorded so far
};

}  // namespace kadam::replay
