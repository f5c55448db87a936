// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/algorithms/health.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <replay/comparison.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kadam::replay {

/// What a replay found.
struct Summary {
  std::string algorithm;
  std::string dense;  ///< that of the optimizer beside it
  int ranks = 1;
  std::int64_t steps = 0;      ///< of the recording, as far as it was replayed
  std::int64_t skipped = 0;    ///< of these
  std::int64_t compared = 0;   ///< from the first step on that was not dense
  std::int64_t equal = 0;      ///< after so many of the compared steps parameters were equal on all ranks
  std::size_t sent_bytes = 0;  ///< by rank 0
  std::size_t dense_sent_bytes = 0;  ///< by rank 0, for the optimizer beside it
  TensorLayout tensors;
  std::vector<Figures> figures;  ///< of each tensor and of all; empty where nothing was compared
  std::vector<Warning> warnings;
};

/// Tables and sentences. Lines end with a newline.
[[nodiscard]] std::string to_text(const Summary& summary);
/// One JSON object, with a newline.
[[nodiscard]] std::string to_json(const Summary& summary);

}  // namespace kadam::replay
