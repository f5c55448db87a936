// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/layout/ceil_divide.hpp>
#include <kadam/layout/chunk_layout.hpp>

#include <stdexcept>
#include <string>

namespace kadam {

ChunkLayout::ChunkLayout(std::int64_t elements, int ranks) : elements_(elements), ranks_(ranks) {
  if (elements < 0 || ranks < 1) {
    throw std::invalid_argument("kadam::ChunkLayout: expected elements >= 0 and ranks >= 1, got " +
                                std::to_string(elements) + " elements and " + std::to_string(ranks) +
                                " ranks");
  }
  chunk_elements_ = alignment_elements * ceil_divide(ceil_divide(elements, ranks), alignment_elements);
}

}  // namespace kadam
