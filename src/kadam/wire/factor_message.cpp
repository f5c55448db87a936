// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/wire/factor_message.hpp>

#include <algorithm>
#include <numeric>

namespace kadam {

FactorMessage::FactorMessage(const std::vector<std::int64_t>& columns, int ranks, int bits, bool has_scale)
    : chunks_(std::accumulate(columns.begin(), columns.end(), std::int64_t{0}), ranks) {
  std::size_t column = 0;
  std::int64_t column_end = columns.empty() ? 0 : columns.front();
  std::int64_t word = 0;
  for (int j = 0; j < ranks; ++j) {
    const ElementRange chunk = chunks_.chunk(j);
    const std::int64_t chunk_word = word;
    for (std::int64_t begin = chunk.begin; begin < chunk.end;) {
      while (column_end <= begin) column_end += columns[++column];
      const std::int64_t end = std::min(column_end, chunk.end);
      blocks_.push_back({begin, end - begin, word});
      columns_.push_back(column);
      word += (has_scale ? 1 : 0) + ceil_divide((end - begin) * bits, 32);
      begin = end;
    }
    first_blocks_.push_back(static_cast<std::int64_t>(blocks_.size()));
    pieces_.push_back({sizeof(std::uint32_t) * static_cast<std::size_t>(chunk_word),
                       sizeof(std::uint32_t) * static_cast<std::size_t>(word - chunk_word)});
  }
}

}  // namespace kadam
