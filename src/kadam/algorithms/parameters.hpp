// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/half_copy.hpp>

#include <concepts>
#include <cstddef>
#include <string>

namespace kadam {

/// Parameters in float32, the master, and optionally a model beside them: the same numbers rounded to 16
/// bits, to nearest even, for a forward pass that works with 16 bits. The model is written, never read.
///
/// A View of float32 is all that is needed where there is no model:
/// `optimizer->step(exec, x, gradient)`, and with one `optimizer->step(exec, {x, model}, gradient)`.
class Parameters {
 public:
  /// The master alone. Unmanaged Views of the caller convert too.
  template <std::convertible_to<Vector<float>> View>
  Parameters(const View& master) : master_(master) {}
  Parameters(const Vector<float>& master, const Vector<Bfloat16>& model)
      : master_(master), bfloat16_(model), copy_(model), has_model_(true) {}
  Parameters(const Vector<float>& master, const Vector<Float16>& model)
      : master_(master), float16_(model), copy_(model), has_model_(true) {}

  [[nodiscard]] const Vector<float>& master() const { return master_; }
  [[nodiscard]] bool has_model() const { return has_model_; }
  /// Where kernels write the model; nowhere if there is none.
  [[nodiscard]] const HalfCopy<MemorySpace>& copy() const { return copy_; }
  /// Of the model's View.
  [[nodiscard]] std::size_t model_extent() const { return bfloat16_.extent(0) + float16_.extent(0); }
  [[nodiscard]] std::string model_label() const {
    return copy_.format() == NumberFormat::float16 ? float16_.label() : bfloat16_.label();
  }

 private:
  Vector<float> master_;
  Vector<Bfloat16> bfloat16_;  ///< the model in one of these
  Vector<Float16> float16_;
  HalfCopy<MemorySpace> copy_;
  bool has_model_ = false;
};

}  // namespace kadam
