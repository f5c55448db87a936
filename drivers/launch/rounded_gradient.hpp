// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer.hpp>

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

}  // namespace kadam::launch
