// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <optional>

namespace kadam::python {

/// A cudaStream_t or hipStream_t as a number; 0 is the default stream.
using StreamHandle = std::uintptr_t;

/// The types of devices, as DLPack numbers them.
enum class DeviceType : int {
  cpu = 1,
  cuda = 2,
  cuda_host = 3,
  rocm = 10,
  rocm_host = 11,
  cuda_managed = 13,
};

/// The number of a stream for __dlpack__() of the Python array API, which asks the producer of an array to
/// make it ready on this stream. Nothing where there is no number: for memory of the host, and for HIP's
/// default stream per thread.
///
/// CUDA: 1 is the legacy default stream, 2 the default stream per thread, the same as CUDA's special handles;
/// 0 would be ambiguous. ROCm: 0 is the default stream, 1 and 2 are no streams.
[[nodiscard]] constexpr std::optional<std::int64_t> dlpack_stream(DeviceType device, StreamHandle handle) {
  constexpr StreamHandle legacy = 1;
  constexpr StreamHandle per_thread = 2;
  switch (device) {
    case DeviceType::cuda:
    case DeviceType::cuda_managed:
      return static_cast<std::int64_t>(handle == 0 ? legacy : handle);
    case DeviceType::rocm:
      if (handle == per_thread) return std::nullopt;
      return static_cast<std::int64_t>(handle == legacy ? 0 : handle);
    default:
      return std::nullopt;
  }
}

}  // namespace kadam::python
