// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/layout/element_set.hpp>

namespace kadam {

ElementRange ElementSet::add(ElementRange range) {
  if (range.elements() <= 0) return range;
  const auto first = std::partition_point(ranges_.begin(), ranges_.end(),
                                          [&](const ElementRange& one) { return one.end < range.begin; });
  auto last = first;
  for (; last != ranges_.end() && last->begin <= range.end; ++last) {
    range = {std::min(range.begin, last->begin), std::max(range.end, last->end)};
  }
  ranges_.insert(ranges_.erase(first, last), range);
  return range;
}

}  // namespace kadam
