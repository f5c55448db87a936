// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <trace/recorder.hpp>

#include <memory>

namespace kadam::trace {

/// Records every kernel, copy and profiling region of Kokkos while it lives: what lies in a phase of
/// an optimizer, or is a kernel of the library, on the track of the codec, the rest on that of computation.
///
/// On a GPU Kokkos then waits for each kernel: lengths are true, and less overlaps than without. At most one
/// at a time, and none beside a tool of KOKKOS_TOOLS_LIBS. Errors: std::runtime_error where there is one.
class KokkosEvents {
 public:
  explicit KokkosEvents(std::shared_ptr<Recorder> recorder);
  ~KokkosEvents();
  KokkosEvents(const KokkosEvents&) = delete;
  KokkosEvents& operator=(const KokkosEvents&) = delete;
};

}  // namespace kadam::trace
