// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/caller/caller_vectors.hpp>
#include <kadam/execution.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/optim/optimizer.hpp>
#include <kadam/python/dlpack_stream.hpp>

#include <cstdint>
#include <nanobind/ndarray.h>
#include <optional>

namespace kadam::python {

namespace nb = nanobind;

/// What a call expects of an array.
struct ArrayUse {
  const char* name = "";  ///< in messages
  std::int64_t elements = 0;
  bool is_written = false;
};

/// Copies of arrays that kernels cannot reach, whose memory an optimizer keeps from call to call.
struct ArrayCopies {
  explicit ArrayCopies(std::int64_t elements) : parameters("kadam::python", elements, false) {}

  caller::CallerParameters parameters;
  caller::CallerArray read{"kadam::python::read", false};  ///< a gradient, or parameters that are only read
};

/// An array of Python in the memory of the host, or of the device that Kadam runs on; keeps it alive. On a
/// device it asks the array's producer, by DLPack, to make the array ready for kernels on `stream`; if the
/// producer does not support that, it waits for the whole device.
///
/// Errors: nb::type_error for an object that is no array, std::invalid_argument for one that is read-only,
/// not contiguous, of another size, or elsewhere.
class Array {
 public:
  Array(nb::handle source, const ArrayUse& use, StreamHandle stream);

  [[nodiscard]] void* data() const { return data_; }
  /// Whether kernels cannot reach it.
  [[nodiscard]] bool needs_copy() const;
  [[nodiscard]] bool is_on_host() const { return on_host_; }
  /// Errors: std::invalid_argument unless it holds float32.
  void require_float32() const;
  /// Errors: std::invalid_argument unless it holds this format; bfloat16 may also be given as its bits.
  void require_gradients(NumberFormat format) const;
  /// Its format, bfloat16 or float16. Errors: std::invalid_argument if it holds another one.
  [[nodiscard]] NumberFormat half_format() const;

 private:
  [[noreturn]] void refuse_type(const char* expected) const;

  const char* name_;
  nb::ndarray<nb::ro> source_;
  void* data_ = nullptr;
  bool on_host_ = true;
};

/// The parameters of a call, and their model if there is one.
class ParameterArrays {
 public:
  /// model may be None. Errors: as Array has them.
  ParameterArrays(const char* name, nb::handle parameters, nb::handle model, std::int64_t elements,
                  StreamHandle stream);

  /// Views for kernels. in(): with the caller's values; out(): to be written from scratch.
  [[nodiscard]] Parameters in(const ExecutionSpace& exec, ArrayCopies& copies) const;
  [[nodiscard]] Parameters out(const ExecutionSpace& exec, ArrayCopies& copies) const;
  /// Copies what kernels wrote back to the caller where they work on copies. Arrays in host memory are
  /// complete when it returns: it waits for exec then.
  void give_back(const ExecutionSpace& exec, ArrayCopies& copies, const Parameters& written) const;

 private:
  [[nodiscard]] float* master_data() const { return static_cast<float*>(master_.data()); }
  [[nodiscard]] caller::CallerParameters& vectors_in(ArrayCopies& copies) const;

  Array master_;
  std::optional<Array> model_;
};

/// Parameters that a call only reads.
class ReadParameters {
 public:
  ReadParameters(const char* name, nb::handle parameters, std::int64_t elements, StreamHandle stream);
  /// A View for kernels. Waits for exec if they work on a copy.
  [[nodiscard]] Vector<float> in(const ExecutionSpace& exec, ArrayCopies& copies) const;

 private:
  std::int64_t elements_;
  Array array_;
};

/// The gradient of a call, in the optimizer's format. Errors: as Array::require_gradients().
class GradientArray {
 public:
  GradientArray(nb::handle gradient, NumberFormat format, std::int64_t elements, StreamHandle stream);
  [[nodiscard]] Gradient in(const ExecutionSpace& exec, ArrayCopies& copies) const;
  [[nodiscard]] const Array& array() const { return array_; }

 private:
  std::int64_t elements_;
  NumberFormat format_;
  Array array_;
};

}  // namespace kadam::python
