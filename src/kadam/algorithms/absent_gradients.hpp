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

/// Keeps track of tensors without a gradient. A step leaves alone each tensor for which no rank has a
/// gradient, and the bias corrections of that tensor do not count the step (as in PyTorch).
///
/// Memory: none until a tensor is left out, then 8 B per tensor on the host.
class AbsentGradients {
 public:
  /// Says that this rank has no gradient for `tensors` in the next step; replaces what an earlier call said.
  /// count: number of tensors of the layout. Shape: indices below `count`.
  void name(std::span<const std::size_t> tensors, std::size_t count);
  [[nodiscard]] bool names_any() const { return !named_.empty(); }

  /// Finds the tensors that all ranks have named. To be called on all ranks, and only if each of them has
  /// named some. Collective. Wire: 8 (n - 1) B for every 52 tensors, since a float64 holds 52 bits.
  void agree(Communicator& communicator);
  /// Ends a step that was taken or skipped: counts it for the tensors that it left out, and forgets what was
  /// named.
  void end_step();

  /// Whether some tensor is left out of this step, or was left out of an earlier one.
  [[nodiscard]] bool any_ever() const { return !left_out_.empty() || !steps_left_out_.empty(); }
  /// Neighbouring tensors that a step treats alike.
  struct Run {
    ElementRange range;
    bool is_left_out = false;
    /// Earlier steps that left these tensors out; no meaning where is_left_out.
    std::int64_t steps_left_out = 0;
  };
  /// Divides all elements of the layout into runs, in order.
  [[nodiscard]] std::vector<Run> runs(const TensorLayout& layout) const;

  /// Forgets everything, and makes room for the state of `count` tensors. To be called before a state is
  /// read.
  void forget(std::size_t count);
  void describe_state(StateFields& fields);
  /// To be called after a state was read: frees the memory if no tensor was ever left out.
  void adopt_state();

 private:
  std::vector<bool> named_;             ///< by this rank for the next step; empty: none
  std::vector<bool> left_out_;          ///< of this step; empty: none
  std::vector<double> steps_left_out_;  ///< whole numbers, one per tensor; empty: no tensor was ever left out
};

}  // namespace kadam
