// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/layout/chunk_layout.hpp>

#include <stdexcept>
#include <string>

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

ChunkLayout::ChunkLayout(std::int64_t elements, int ranks) : elements_(elements), ranks_(ranks) {
  if (elements < 0 || ranks < 1) {
    throw std::invalid_argument("kadam::ChunkLayout: expected elements >= 0 and ranks >= 1, got " +
                                std::to_string(elements) + " elements and " + std::to_string(ranks) +
                                " ranks");
  }
  chunk_elements_ = alignment_elements * ceil_divide(ceil_divide(elements, ranks), alignment_elements);
}

}  // namespace kadam
