// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/state/state_fields.hpp>

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
  /// The same on all ranks.
  void describe_state(StateFields& fields) const {
    fields.equal("m", m);
    fields.equal("v", v);
  }
  /// Of each rank's own gradients.
  void describe_own_state(StateFields& fields) const {
    fields.of_each_rank("m", m);
    fields.of_each_rank("v", v);
  }
  [[nodiscard]] std::size_t bytes() const { return (m.size() + v.size()) * sizeof(float); }
};

}  // namespace kadam
