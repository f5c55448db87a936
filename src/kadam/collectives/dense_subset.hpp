// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/collectives/dense_mean.hpp>

#include <Kokkos_Core.hpp>

#include <vector>

namespace kadam {

/// What DenseSubset exchanges and holds: nothing without an element.
[[nodiscard]] Cost dense_subset_cost(const Arrangement& ranks, const std::vector<ElementRange>& ranges);

/// The exact mean of a few ranges of a vector: the tensors that are kept out of compression.
///
/// Wire: 2 (n - 1)/n 4 k bytes for k elements. Memory: 12 k bytes and DenseMean's 8 k.
class DenseSubset {
 public:
  DenseSubset() = default;
  DenseSubset(const ExecutionSpace& exec, Communicator& communicator,
              const std::vector<ElementRange>& ranges);

  /// Exchanges load(i) of all elements i of the ranges. Collective.
  template <class Load>
  void exchange(const ExecutionSpace& exec, Phases& phases, const Load& load) {
    if (elements_ == 0) return;
    const Vector<std::int64_t> index = index_;
    const Vector<float> packed = packed_;
    Kokkos::parallel_for(
        "kadam::DenseSubset::exchange", policy(exec),
        KOKKOS_LAMBDA(const std::int64_t k) { packed(k) = load(index(k)); });
    result_ = mean_(exec, phases, packed_);
  }

  /// apply(i, mean of element i), after exchange(), for all elements i of the ranges in [begin, end).
  template <class Apply>
  void decode(const ExecutionSpace& exec, std::int64_t begin, std::int64_t end, const Apply& apply) const {
    if (elements_ == 0) return;
    const Vector<std::int64_t> index = index_;
    const Vector<const float> result = result_;
    Kokkos::parallel_for(
        "kadam::DenseSubset::decode", policy(exec), KOKKOS_LAMBDA(const std::int64_t k) {
          if (index(k) >= begin && index(k) < end) apply(index(k), result(k));
        });
  }

 private:
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  [[nodiscard]] Policy policy(const ExecutionSpace& exec) const { return Policy(exec, 0, elements_); }

  std::int64_t elements_ = 0;
  Vector<std::int64_t> index_;
  Vector<float> packed_;
  Vector<const float> result_;
  DenseMean mean_;
};

}  // namespace kadam
