// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/python/streams.hpp>

#include <stdexcept>
#include <string>

namespace kadam::python {
namespace {

StreamHandle own_handle(const ExecutionSpace& exec) {
#if defined(KOKKOS_ENABLE_CUDA)
  return reinterpret_cast<StreamHandle>(exec.cuda_stream());
#elif defined(KOKKOS_ENABLE_HIP)
  return reinterpret_cast<StreamHandle>(exec.hip_stream());
#else
  (void)exec;
  return 0;
#endif
}

ExecutionSpace instance_on(StreamHandle handle) {
#if defined(KOKKOS_ENABLE_CUDA)
  return ExecutionSpace(reinterpret_cast<cudaStream_t>(handle));
#elif defined(KOKKOS_ENABLE_HIP)
  return ExecutionSpace(reinterpret_cast<hipStream_t>(handle));
#else
  (void)handle;
  return {};
#endif
}

/// The handle in a stream object of PyTorch or CuPy; another object is returned as it is.
nb::object number_of(nb::handle stream) {
  for (const char* const name : {"cuda_stream", "ptr"}) {
    if (nb::hasattr(stream, name)) return stream.attr(name);
  }
  return nb::borrow(stream);
}

}  // namespace

std::optional<StreamHandle> stream_in(nb::handle stream) {
  if (stream.is_none()) return std::nullopt;
  StreamHandle handle = 0;
  const nb::object number = number_of(stream);
  if (PyBool_Check(number.ptr()) || !nb::try_cast(number, handle)) {
    throw nb::type_error(
        ("stream: expected None, a stream of PyTorch or CuPy, or its handle as a number, got " +
         std::string(nb::type_name(stream.type()).c_str()))
            .c_str());
  }
  if (kernels_run_on_host) {
    throw std::invalid_argument(
        "stream: this Kadam computes on the host, where there are no streams: pass None");
  }
  return handle;
}

StreamHandle Streams::handle_of(std::optional<StreamHandle> given) const {
  return given.value_or(own_handle(own_));
}

const ExecutionSpace& Streams::for_call(std::optional<StreamHandle> given) {
  const bool as_before = given ? last_ != nullptr && last_->handle == *given : last_ == nullptr;
  if (as_before) return last();
  last().fence("kadam::python: another stream");
  last_ = nullptr;
  if (!given) return own_;
  if (!caller_ || caller_->handle != *given) caller_.emplace(OfCaller{*given, instance_on(*given)});
  last_ = &*caller_;
  return last();
}

}  // namespace kadam::python
