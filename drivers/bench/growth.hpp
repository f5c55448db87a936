// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/lone_rank.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace kadam::bench {

/// A measurement of rank 0 of `ranks`, without the others.
struct GrowthCase {
  std::string optimizer;
  std::int64_t elements = 0;
  int ranks = 2;
  int ranks_per_node = 1;  ///< above 1: exchanges have two levels
  int steps = 8;           ///< steps of one run; all runs come after the warm-up
  int runs = 3;            ///< the least time in kernels counts, and the mean over runs of all else
};

/// Measured figures of one rank beside the planned ones. Bytes, messages, launches and seconds are per step,
/// means over steps.
struct GrowthResult {
  GrowthCase what;
  double bytes = 0.0;  ///< in messages of exchanges; agreements have their own figures
  double planned_bytes = 0.0;
  double messages = 0.0;
  double planned_messages = 0.0;
  std::size_t longest_message_bytes = 0;
  double agreement_messages = 0.0;
  double agreement_bytes = 0.0;
  std::size_t held_bytes = 0;  ///< by the optimizer, beside parameters and gradient
  std::size_t planned_held_bytes = 0;
  double kernel_seconds = 0.0;        ///< of kernels alone, without copies
  double planned_kernel_bytes = 0.0;  ///< bytes that these kernels must move, as the plan counts them
  double launches = 0.0;              ///< of kernels
};

/// Number of messages of a transfer to `receivers` ranks: equal lengths, each in pieces of at most
/// piece_bytes, and in transfer.least_messages at least. Worked number: 450 kB to 3 ranks in pieces of 60 KiB
/// are 9.
[[nodiscard]] std::size_t messages_of(const Transfer& transfer, int receivers, std::size_t piece_bytes);

/// Takes steps as rank 0 over a LoneRankTransport. Options: a warm-up of 2 steps, rounds of 4 local steps.
[[nodiscard]] GrowthResult measure_growth(const GrowthCase& one);

/// For people.
[[nodiscard]] std::string growth_table_head();
[[nodiscard]] std::string growth_table_row(const GrowthResult& result);
/// For programs: a JSON object and a newline.
[[nodiscard]] std::string json_line_of(const GrowthResult& result);

}  // namespace kadam::bench
