// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <bench/lone_rank.hpp>
#include <kadam/optim/make_optimizer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace kadam::bench {

/// Which rank of how many is played, and how far.
struct GrowthCase {
  std::string optimizer;
  std::int64_t elements = 0;
  int ranks = 2;
  int ranks_per_node = 1;  ///< two levels above 1
  int steps = 8;           ///< that are counted, after a warm-up of two; one run of them
  int runs = 3;            ///< the one with the least time in kernels counts
};

/// What one rank sends, holds and computes, beside what the plan says: per step, the mean of several.
struct GrowthResult {
  GrowthCase what;
  double bytes = 0.0;  ///< handed to the transport, without what ranks agree with
  double planned_bytes = 0.0;
  double messages = 0.0;
  double planned_messages = 0.0;
  std::size_t longest_message_bytes = 0;
  double agreement_messages = 0.0;
  double agreement_bytes = 0.0;
  std::size_t held_bytes = 0;  ///< by the optimizer, beside parameters and gradient
  std::size_t planned_held_bytes = 0;
  double kernel_seconds = 0.0;        ///< of kernels alone, without copies
  double planned_kernel_bytes = 0.0;  ///< that these must move, as the plan counts them
  double launches = 0.0;              ///< of kernels
};

/// The messages of a transfer to so many other ranks: of equal lengths, in pieces of about piece_bytes.
/// Worked number: 450 kB to 3 ranks in pieces of 60 KiB are 9.
[[nodiscard]] std::size_t messages_of(const Transfer& transfer, int receivers, std::size_t piece_bytes);

/// Takes steps as rank 0, alone: see LoneRankTransport. Rounds of local steps are of 4 steps.
[[nodiscard]] GrowthResult measure_growth(const GrowthCase& one);

/// For people.
[[nodiscard]] std::string growth_table_head();
[[nodiscard]] std::string growth_table_row(const GrowthResult& result);
/// For programs: a JSON object and a newline.
[[nodiscard]] std::string json_line_of(const GrowthResult& result);

}  // namespace kadam::bench
