// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/caller/caller_vectors.hpp>
#include <kadam/optim/optimizer.hpp>
#include <kadam/python/array.hpp>

#include <cstdint>
#include <optional>

namespace kadam::python {

/// Parameters of a call, with their model if there is one.
class ParameterArrays {
 public:
  /// model may be None. Errors: as Array has them.
  ParameterArrays(const char* name, nb::handle parameters, nb::handle model, std::int64_t elements);

  /// With the caller's values, or to be written from scratch.
  [[nodiscard]] Parameters in(const ExecutionSpace& exec);
  [[nodiscard]] Parameters out(const ExecutionSpace& exec);
  /// Gives the caller what was written; memory of the host has it when this returns.
  void give_back(const ExecutionSpace& exec, const Parameters& written);

 private:
  [[nodiscard]] float* master_data() const { return static_cast<float*>(master_.data()); }

  Array master_;
  std::optional<Array> model_;
  caller::CallerParameters vectors_;
};

/// Parameters that are read alone.
class ReadParameters {
 public:
  ReadParameters(const char* name, nb::handle parameters, std::int64_t elements);
  [[nodiscard]] Vector<float> in(const ExecutionSpace& exec);

 private:
  std::int64_t elements_;
  Array array_;
  caller::CallerArray copy_;
};

/// A gradient in an optimizer's format.
class GradientArray {
 public:
  GradientArray(nb::handle gradient, NumberFormat format, std::int64_t elements);
  [[nodiscard]] Gradient in(const ExecutionSpace& exec);
  [[nodiscard]] const Array& array() const { return array_; }

 private:
  std::int64_t elements_;
  NumberFormat format_;
  Array array_;
  caller::CallerArray copy_;
};

}  // namespace kadam::python
