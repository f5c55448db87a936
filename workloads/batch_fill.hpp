// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/model.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>

namespace kadam::workloads {

/// Lets `fill(host_view)` write `elements` elements that then lie in `target`, allocated anew if its size
/// differs. Waits for `exec`, which may still read the batch before.
template <class T, class Fill>
void fill_from_host(const ExecutionSpace& exec, const char* label, std::size_t elements, Vector<T>& target,
                    const Fill& fill) {
  exec.fence("kadam::workloads::fill_from_host: previous batch");
  if (target.extent(0) != elements) {
    target = allocate<T>(exec, label, static_cast<std::int64_t>(elements));
    exec.fence("kadam::workloads::fill_from_host: allocation");
  }
  const auto host = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, target);
  fill(host);
  Kokkos::deep_copy(exec, target, host);
  exec.fence("kadam::workloads::fill_from_host: copy");
}

/// Errors: std::out_of_range when an index is not in [0, examples).
inline void require_indices(const char* what, std::span<const std::int64_t> indices, std::int64_t examples) {
  for (const std::int64_t index : indices) {
    if (index < 0 || index >= examples) {
      throw std::out_of_range("kadam::workloads: " + std::string(what) + " example " + std::to_string(index) +
                              " was asked for, expected one of 0 to " + std::to_string(examples - 1));
    }
  }
}

}  // namespace kadam::workloads
