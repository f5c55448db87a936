// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/state/state_fields.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kadam {

/// Tensors without a gradient: a step leaves alone those that no rank has a gradient for, and a tensor's bias
/// corrections count the steps that did not (as in PyTorch).
///
/// Memory: none until a tensor is left out, then 8 B per tensor on the host.
class AbsentGradients {
 public:
  /// This rank has no gradient for these of so many tensors in the next step, in place of what it named
  /// before. Shape: indices below `count`.
  void name(std::span<const std::size_t> tensors, std::size_t count);
  [[nodiscard]] bool names_any() const { return !named_.empty(); }

  /// Finds the tensors that all ranks name; every rank names some. Collective. Wire: (n - 1) 8 B per 52
  /// tensors.
  void agree(Communicator& communicator);
  /// After a step that was taken or skipped: counts what was left out, and forgets what was named.
  void end_step();

  /// Whether some tensor is left out of this step, or was of an earlier one.
  [[nodiscard]] bool any_ever() const { return !left_out_.empty() || !steps_left_out_.empty(); }
  /// Neighbouring tensors that a step treats alike.
  struct Run {
    ElementRange range;
    bool is_left_out = false;
    std::int64_t steps_left_out = 0;  ///< earlier ones
  };
  /// All elements, in order.
  [[nodiscard]] std::vector<Run> runs(const TensorLayout& layout) const;

  /// Before a state of so many tensors is read: none was left out.
  void forget(std::size_t count);
  void describe_state(StateFields& fields);
  /// After it was read.
  void adopt_state();

 private:
  std::vector<bool> named_;             ///< by this rank for the next step; empty: none
  std::vector<bool> left_out_;          ///< of this step; empty: none
  std::vector<double> steps_left_out_;  ///< whole numbers, by tensor; empty: none ever
};

}  // namespace kadam
