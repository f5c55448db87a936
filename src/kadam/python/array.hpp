// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/number_format.hpp>

#include <cstdint>
#include <nanobind/ndarray.h>

namespace kadam::python {

namespace nb = nanobind;

/// What an array of a call is for.
struct ArrayUse {
  const char* name = "";
  std::int64_t elements = 0;
  bool is_written = false;
};

/// An array of Python's in the memory of the host, or of the device that Kadam runs on. Keeps it alive.
///
/// Errors: nb::type_error for what is no array, std::invalid_argument for one that is read-only, not
/// contiguous, of another size, or elsewhere.
class Array {
 public:
  Array(nb::handle source, const ArrayUse& use);

  [[nodiscard]] void* data() const { return data_; }
  /// Kernels cannot reach it.
  [[nodiscard]] bool needs_copy() const;
  [[nodiscard]] bool is_on_host() const { return on_host_; }
  /// Errors: std::invalid_argument unless it holds float32.
  void require_float32() const;
  /// Errors: std::invalid_argument unless it holds this format; bfloat16 may also be given as its bits.
  void require_gradients(NumberFormat format) const;
  /// Errors: std::invalid_argument unless it holds bfloat16 or float16.
  [[nodiscard]] NumberFormat half_format() const;

 private:
  [[noreturn]] void refuse_type(const char* expected) const;

  const char* name_;
  nb::ndarray<nb::ro> source_;
  void* data_ = nullptr;
  bool on_host_ = true;
};

}  // namespace kadam::python
