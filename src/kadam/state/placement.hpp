// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/chunk_layout.hpp>

#include <cstdint>

namespace kadam {

/// How a vector of an optimizer's state lies on the ranks: there are `copies` vectors of `elements` elements
/// each, and this rank holds elements `range` of number `copy`.
///
/// One copy: all ranks hold the same vector, or each of them a part. More: each rank, or each node, has one
/// of its own, and what counts of them is their mean over the copies: errors that are still owed, residuals,
/// moments of a rank's own gradients. On another number of ranks each copy starts as that mean.
///
/// Worked number: 4 ranks, d = 1000: a worker error of rank 2 is {1000, {0, 1000}, 4, 2}; its part of what
/// the ranks share out is {1000, {512, 768}, 1, 0}.
struct Placement {
  std::int64_t elements = 0;
  ElementRange range;
  int copies = 1;
  int copy = 0;

  /// All ranks hold the same.
  [[nodiscard]] bool is_replicated() const { return copies == 1 && range == ElementRange{0, elements}; }
  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace kadam
