// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace kadam {

/// First and second moment of the gradient, zero at first. Memory: 8 B per element.
struct Moments {
  Vector<float> m;
  Vector<float> v;

  /// label: the owner's, as in "kadam::Adam".
  [[nodiscard]] static Moments zeros(const ExecutionSpace& exec, const std::string& label,
                                     std::int64_t elements) {
    return {allocate_zeros<float>(exec, label + "::m", elements),
            allocate_zeros<float>(exec, label + "::v", elements)};
  }
  [[nodiscard]] std::size_t bytes() const { return (m.size() + v.size()) * sizeof(float); }
};

}  // namespace kadam
