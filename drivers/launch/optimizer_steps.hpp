// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <kadam/execution.hpp>
#include <kadam/optim/optimizer.hpp>

#include <cstdint>

/// What programs do beside the steps of an optimizer.
namespace kadam::launch {

/// A float32 gradient as an optimizer wants it: itself, or rounded by one kernel to the 16 bits of the option
/// `gradients`. For programs whose models work in float32. Memory: 2 B per element, none for float32.
class RoundedGradient {
 public:
  RoundedGradient() = default;
  RoundedGradient(const ExecutionSpace& exec, NumberFormat format, std::int64_t elements);

  /// Valid until the next call. Memory: 6 B per element.
  [[nodiscard]] Gradient operator()(const ExecutionSpace& exec, const Vector<const float>& gradient) const;

  /// The same in parts: where the rounded gradient lies, and the rounding of some of its elements.
  [[nodiscard]] Gradient view(const Vector<const float>& gradient) const;
  void round(const ExecutionSpace& exec, const Vector<const float>& gradient,
             const ElementRange& range) const;

 private:
  NumberFormat format_ = NumberFormat::float32;
  Vector<Bfloat16> bfloat16_;
  Vector<Float16> float16_;
};

/// Throws UsageError when lr is a list that ends before `steps`: said before the first step, not at the one
/// that has no rate.
void require_learning_rates(const Optimizer& optimizer, std::int64_t steps);

/// All ranks decode the same bytes: if their parameters ever differ, something is broken and nothing that
/// follows means anything. Compares the parameters of all ranks bit by bit, through a hash of 8 bytes, and
/// returns it. Collective. Errors: std::runtime_error on all ranks where they differ.
std::uint64_t require_equal_replicas(Communicator& communicator, const ExecutionSpace& exec,
                                     const Vector<float>& parameters);

}  // namespace kadam::launch
