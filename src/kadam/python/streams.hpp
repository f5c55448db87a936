// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/python/dlpack_stream.hpp>

#include <nanobind/nanobind.h>
#include <optional>

namespace kadam::python {

namespace nb = nanobind;

/// The handle of the stream that a call was given: a number, or an object of PyTorch (cuda_stream) or CuPy
/// (ptr). Nothing for None.
///
/// Errors: nb::type_error for an object that is no stream, std::invalid_argument for any stream where kernels
/// run on the host.
[[nodiscard]] std::optional<StreamHandle> stream_in(nb::handle stream);

/// The instances of the execution space that an optimizer works on: one on a stream of its own, and one on
/// the stream that the caller has given last.
class Streams {
 public:
  Streams() = default;
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// The handle of the stream that the arrays of a call must be ready on: the given one, else the optimizer's
  /// own.
  [[nodiscard]] StreamHandle handle_of(std::optional<StreamHandle> given) const;

  /// The instance for a call: on the given stream, else the optimizer's own. Waits for the call before if
  /// that ran on another stream.
  [[nodiscard]] const ExecutionSpace& for_call(std::optional<StreamHandle> given);

  /// The instance of the last call.
  [[nodiscard]] const ExecutionSpace& last() const { return last_ ? last_->exec : own_; }

 private:
  struct OfCaller {
    StreamHandle handle;
    ExecutionSpace exec;
  };

  ExecutionSpace own_;
  std::optional<OfCaller> caller_;  ///< kept until another stream is given: making one takes time and memory
  const OfCaller* last_ = nullptr;  ///< of the last call; null: own_
};

}  // namespace kadam::python
