// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/optim/optimizer.hpp>

#include <cstdint>

/// Parts of programs around the steps of an optimizer: rounding gradients, checks.
namespace kadam::launch {

/// Turns a float32 gradient into the format of the option `gradients`: the gradient itself, or its rounding
/// to 16 bits by one kernel. For programs whose models work in float32. Memory: 2 B per element, none for
/// float32.
class RoundedGradient {
 public:
  RoundedGradient() = default;
  RoundedGradient(const ExecutionSpace& exec, NumberFormat format, std::int64_t elements);

  /// Rounds a gradient. The result is valid until the next call, and for float32 as long as `gradient`.
  /// Enqueued on exec. Memory: reads and writes 6 B per element, nothing for float32.
  [[nodiscard]] Gradient operator()(const ExecutionSpace& exec, const Vector<const float>& gradient) const;

  /// Where the rounded gradient lies, for callers that round() it in parts.
  [[nodiscard]] Gradient view(const Vector<const float>& gradient) const;
  /// Rounds the elements of `range`. Enqueued on exec.
  void round(const ExecutionSpace& exec, const Vector<const float>& gradient,
             const ElementRange& range) const;

 private:
  NumberFormat format_ = NumberFormat::float32;
  Vector<Bfloat16> bfloat16_;
  Vector<Float16> float16_;
};

/// Throws UsageError if lr is a list that ends before `steps`. So a program fails before its first step, not
/// at the first one without a rate.
void require_learning_rates(const Optimizer& optimizer, std::int64_t steps);

/// Compares the parameters of all ranks by a hash of their bits, 8 bytes, and returns it. All ranks decode
/// the same bytes: if their parameters differ, something is broken, and later results mean nothing.
/// Collective. Errors: std::runtime_error on all ranks where they differ.
std::uint64_t require_equal_replicas(Communicator& communicator, const ExecutionSpace& exec,
                                     const Vector<float>& parameters);

}  // namespace kadam::launch
