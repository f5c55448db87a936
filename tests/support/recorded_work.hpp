// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kadam::test {

/// Records the labels of kernels, copies and fences while it lives, as a Kokkos Tools library sees them. One
/// object at a time.
class RecordedWork {
 public:
  RecordedWork() {
    namespace tools = Kokkos::Tools::Experimental;
    launches().clear();
    fences().clear();
    tools::set_begin_parallel_for_callback(record_kernel);
    tools::set_begin_parallel_reduce_callback(record_kernel);
    tools::set_begin_parallel_scan_callback(record_kernel);
    tools::set_begin_deep_copy_callback(record_copy);
    tools::set_begin_fence_callback(record_fence);
  }
  ~RecordedWork() {
    namespace tools = Kokkos::Tools::Experimental;
    tools::set_begin_parallel_for_callback(nullptr);
    tools::set_begin_parallel_reduce_callback(nullptr);
    tools::set_begin_parallel_scan_callback(nullptr);
    tools::set_begin_deep_copy_callback(nullptr);
    tools::set_begin_fence_callback(nullptr);
  }
  RecordedWork(const RecordedWork&) = delete;
  RecordedWork& operator=(const RecordedWork&) = delete;

  /// Labels of kernels and copies. Filling a View counts as a kernel or as a copy.
  static std::vector<std::string>& launches() {
    static std::vector<std::string> labels;
    return labels;
  }
  static std::vector<std::string>& fences() {
    static std::vector<std::string> labels;
    return labels;
  }

 private:
  static void record_kernel(const char* label, std::uint32_t /*device*/, std::uint64_t* /*id*/) {
    launches().emplace_back(label);
  }
  static void record_copy(Kokkos::Tools::SpaceHandle /*to*/, const char* label, const void* /*data*/,
                          Kokkos::Tools::SpaceHandle /*from*/, const char* /*label*/, const void* /*data*/,
                          std::uint64_t /*bytes*/) {
    launches().emplace_back(label);
  }
  static void record_fence(const char* label, std::uint32_t /*device*/, std::uint64_t* /*id*/) {
    // Kokkos fences around each kernel because of these callbacks.
    if (!std::string_view(label).starts_with("Kokkos::Tools::")) fences().emplace_back(label);
  }
};

}  // namespace kadam::test
