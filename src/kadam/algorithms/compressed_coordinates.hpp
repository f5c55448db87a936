// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/active_mask.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam {

/// Which coordinates are compressed: those that have variance, where the algorithm needs it, and lie in no
/// tensor that is kept dense.
///
/// Memory: d/8 bytes.
class CompressedCoordinates {
 public:
  CompressedCoordinates() = default;
  /// All but the dense ranges.
  CompressedCoordinates(const ExecutionSpace& exec, std::int64_t elements,
                        const std::vector<ElementRange>& dense);

  /// All with v > 0 but the dense ranges. Reads v; waits for exec.
  void require_variance(const ExecutionSpace& exec, const Vector<float>& v);

  /// Empty when all coordinates are compressed.
  [[nodiscard]] const ActiveMask<MemorySpace>& active() const { return active_; }
  /// Coordinates without variance when it was last required, kept dense or not.
  [[nodiscard]] std::int64_t inactive_elements() const { return inactive_; }
  [[nodiscard]] static std::size_t memory_bytes(std::int64_t elements) {
    return static_cast<std::size_t>(ActiveMask<MemorySpace>::words_for(elements)) * sizeof(std::uint32_t);
  }

 private:
  std::int64_t elements_ = 0;
  Vector<ElementRange> dense_;
  Vector<std::uint32_t> mask_;
  ActiveMask<MemorySpace> active_;
  std::int64_t inactive_ = 0;
};

}  // namespace kadam
