// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/python/dlpack_stream.hpp>

#include <nanobind/nanobind.h>
#include <optional>

namespace kadam::python {

namespace nb = nanobind;

/// The stream that a call was given: a number, or an object of PyTorch (cuda_stream) or CuPy (ptr). Nothing
/// for None.
///
/// Errors: nb::type_error for what is no stream, std::invalid_argument for any stream where kernels run on
/// the host.
[[nodiscard]] std::optional<StreamHandle> stream_in(nb::handle stream);

/// The instances of the execution space that an optimizer works on: one of its own, and one on the stream of
/// the caller that was given last.
class Streams {
 public:
  Streams() = default;
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// What arrays of a call are to be ready on.
  [[nodiscard]] StreamHandle handle_of(std::optional<StreamHandle> given) const;

  /// What a call runs on. Waits for the call before, if that ran on another stream.
  [[nodiscard]] const ExecutionSpace& for_call(std::optional<StreamHandle> given);

  /// What the last call ran on.
  [[nodiscard]] const ExecutionSpace& last() const { return last_ ? last_->exec : own_; }

 private:
  struct OfCaller {
    StreamHandle handle;
    ExecutionSpace exec;
  };

  ExecutionSpace own_;
  std::optional<OfCaller> caller_;  ///< making one takes time and memory: kept while others are not given
  const OfCaller* last_ = nullptr;
};

}  // namespace kadam::python
