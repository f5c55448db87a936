// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/caller/caller_array.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/optim/optimizer.hpp>

#include <cstdint>
#include <string>

// What an optimizer takes, made of pointers that other languages hand over.
namespace kadam::caller {

/// Parameters of a caller, with their rounded model if there is one.
class CallerParameters {
 public:
  /// label: begins the names of copies. copied: whether kernels cannot reach the parameters.
  CallerParameters(const std::string& label, std::int64_t elements, bool copied);

  /// From now on a model of bfloat16 or float16 goes with them; nullptr: none.
  void set_model(void* numbers, NumberFormat format, bool copied);

  /// With the caller's values, or to be written from scratch.
  [[nodiscard]] Parameters in(const ExecutionSpace& exec, float* parameters);
  [[nodiscard]] Parameters out(const ExecutionSpace& exec, float* parameters);
  /// Gives the caller what was written, and the model with it. What was copied is there when exec is done.
  void give_back(const ExecutionSpace& exec, const Parameters& written, float* parameters);

 private:
  /// use(numbers): the caller's model, as the numbers it consists of.
  template <class Use>
  auto in_model_format(const Use& use) const;
  [[nodiscard]] Parameters with_model(const ExecutionSpace& exec, const Vector<float>& master);

  std::string label_;
  std::int64_t elements_;
  CallerArray master_;
  CallerArray model_;
  void* model_numbers_ = nullptr;
  NumberFormat model_format_ = NumberFormat::bfloat16;
};

/// A caller's gradient in an optimizer's format; array holds its copy if kernels cannot reach it.
[[nodiscard]] Gradient gradient_in(const ExecutionSpace& exec, CallerArray& array, const void* numbers,
                                   NumberFormat format, std::int64_t elements);

}  // namespace kadam::caller
