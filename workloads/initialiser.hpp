// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <workloads/random.hpp>

#include <cstddef>
#include <cstdint>

namespace kadam::workloads {

/// Fills tensors of a parameter vector; element i gets a pure function of (seed, i).
class Initialiser {
 public:
  Initialiser(const HostVector<float>& parameters, std::uint64_t seed)
      : parameters_(parameters), seed_(seed) {}

  void constant(std::int64_t offset, std::int64_t elements, float value) const {
    for (std::int64_t i = offset; i < offset + elements; ++i) {
      parameters_(static_cast<std::size_t>(i)) = value;
    }
  }

  void normal(std::int64_t offset, std::int64_t elements, double deviation) const {
    for (std::int64_t i = offset; i < offset + elements; ++i) {
      parameters_(static_cast<std::size_t>(i)) =
          static_cast<float>(deviation * random_normal(seed_, static_cast<std::uint64_t>(i)));
    }
  }

 private:
  HostVector<float> parameters_;
  std::uint64_t seed_;
};

}  // namespace kadam::workloads
