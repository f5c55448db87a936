// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_subset.hpp>

namespace kadam {
namespace {

std::int64_t elements_of(const std::vector<ElementRange>& ranges) {
  std::int64_t elements = 0;
  for (const ElementRange& range : ranges) elements += range.elements();
  return elements;
}

}  // namespace

Cost dense_subset_cost(const Arrangement& ranks, const std::vector<ElementRange>& ranges) {
  const std::int64_t elements = elements_of(ranges);
  if (elements == 0) return {};
  Cost cost = DenseMeanLayout(ranks, elements).cost();
  cost.memory.workspace_bytes += static_cast<std::size_t>(elements) * (sizeof(std::int64_t) + sizeof(float));
  return cost;
}

DenseSubset::DenseSubset(const ExecutionSpace& exec, Communicator& communicator,
                         const std::vector<ElementRange>& ranges)
    : elements_(elements_of(ranges)) {
  if (elements_ == 0) return;
  index_ = allocate<std::int64_t>(exec, "kadam::DenseSubset::index", elements_);
  packed_ = allocate<float>(exec, "kadam::DenseSubset::packed", elements_);
  const auto host = Kokkos::create_mirror_view(index_);
  std::size_t k = 0;
  for (const ElementRange& range : ranges) {
    for (std::int64_t i = range.begin; i < range.end; ++i) host(k++) = i;
  }
  Kokkos::deep_copy(exec, index_, host);
  exec.fence("kadam::DenseSubset");
  mean_ = DenseMean(exec, communicator, elements_);
}

}  // namespace kadam
