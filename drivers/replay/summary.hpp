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

/// Results of a replay.
struct Summary {
  std::string algorithm;
  std::string dense;  ///< algorithm of the dense optimizer beside it
  int ranks = 1;
  std::int64_t steps = 0;            ///< of the recording, as far as it was replayed
  std::int64_t skipped = 0;          ///< of these: skipped
  std::int64_t compared = 0;         ///< steps from the first one on that was not dense
  std::int64_t equal = 0;            ///< of these: steps after which parameters were equal on all ranks
  std::size_t sent_bytes = 0;        ///< by rank 0
  std::size_t dense_sent_bytes = 0;  ///< by rank 0, for the dense optimizer
  TensorLayout tensors;
  std::vector<Figures> figures;  ///< of each tensor, then of all; empty if nothing was compared
  std::vector<Warning> warnings;
};

/// Text for people: tables and sentences. Every line ends with a newline.
[[nodiscard]] std::string to_text(const Summary& summary);
/// Text for programs: one JSON object and a newline.
[[nodiscard]] std::string to_json(const Summary& summary);

}  // namespace kadam::replay
