// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/io/npy.hpp>
#include <replay/replay_case.hpp>

#include <cstdint>
#include <span>
#include <string>

namespace kadam::replay {

/// The file of one rank's gradients: "gradients.rank0.npy".
[[nodiscard]] std::string own_gradients_name(int rank);

/// Reads the gradients of one rank of a case step by step.
///
/// Format: gradients.npy (float32 [ranks][steps][d]), or one file per rank, gradients.rank0.npy and so on
/// (float32 [steps][d]). A file of one rank may be longer than its header says: its recording was cut off.
/// Memory: none.
class RecordedGradients {
 public:
  /// Errors: std::runtime_error that names the file and what was expected.
  RecordedGradients(const ReplayCase& recorded, int rank);

  /// Steps of this rank; other ranks may have fewer if their recordings were cut off.
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  /// Reads the gradient of step t = 0, 1, ..., d elements.
  void read(std::int64_t t, std::span<float> gradient);

 private:
  bool is_common_ = false;  ///< one file of all ranks
  io::NpyReader file_;
  std::int64_t elements_ = 0;
  std::int64_t first_ = 0;  ///< index in the file of this rank's first element
  std::int64_t steps_ = 0;
};

}  // namespace kadam::replay
