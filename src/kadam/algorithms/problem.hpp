// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/cost/cost.hpp>
#include <kadam/layout/chunk_layout.hpp>
#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/common_options.hpp>

#include <cstdint>

namespace kadam {

/// What an algorithm is made for: from this and its options follows what it costs, before it is made.
struct Problem {
  TensorLayout layout;
  ResolvedGroups groups;
  Arrangement ranks;
  std::int64_t threads = 0;  ///< of a CPU that each rank has; 0: a GPU

  /// One tensor of so many elements in one group, on a GPU: what a plan knows.
  [[nodiscard]] static Problem of_elements(std::int64_t elements, const Arrangement& ranks,
                                           const CommonOptions& common);

  /// d
  [[nodiscard]] std::int64_t elements() const { return layout.elements(); }
  /// All elements, as kernels count them.
  [[nodiscard]] double all() const { return static_cast<double>(elements()); }
  /// Bytes of so many float32 vectors.
  [[nodiscard]] std::size_t vectors(std::size_t count) const {
    return count * sizeof(float) * static_cast<std::size_t>(elements());
  }
};

/// A step with the dense mean of the gradient: adam, lamb, warm-ups; the update alone differs.
[[nodiscard]] StepPhase dense_phase(const char* name, const CommonOptions& common, const Problem& problem,
                                    const Kernel& update);
/// The update of dense Adam from gradients of this format.
[[nodiscard]] Kernel adam_kernel(const CommonOptions& common);

}  // namespace kadam
