// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/decomposition.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace kadam::insitu {
namespace {

/// Cells of the parts before `part`.
std::int64_t cells_before(int part, std::int64_t cells, int parts) {
  return cells / parts * part + std::min<std::int64_t>(part, cells % parts);
}

}  // namespace

Decomposition::Decomposition(int ranks, std::int64_t width, std::int64_t height, std::int64_t least)
    : width_(width), height_(height) {
  for (int columns = 1; columns <= ranks; ++columns) {
    const int rows = ranks / columns;
    if (rows * columns != ranks || width / columns < least || height / rows < least) continue;
    const bool is_shorter = columns * height + rows * width < columns_ * height + rows_ * width;
    if (columns_ > 0 && !is_shorter) continue;
    columns_ = columns;
    rows_ = rows;
  }
  if (columns_ == 0) {
    throw std::invalid_argument(fmt::format(
        "a grid of {} x {} cells cannot be cut for {} ranks into blocks of at least {} x {} cells: take "
        "a larger grid, or fewer ranks",
        width, height, ranks, least, least));
  }
}

Block Decomposition::block(int rank) const {
  const int column = rank % columns_;
  const int row = rank / columns_;
  Block block;
  block.x = cells_before(column, width_, columns_);
  block.y = cells_before(row, height_, rows_);
  block.width = cells_before(column + 1, width_, columns_) - block.x;
  block.height = cells_before(row + 1, height_, rows_) - block.y;
  return block;
}

}  // namespace kadam::insitu
