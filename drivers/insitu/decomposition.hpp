// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace kadam::insitu {

/// The cells of one rank: a rectangle of the grid.
struct Block {
  std::int64_t x = 0;  ///< of its first column in the whole grid
  std::int64_t y = 0;  ///< of its first row
  std::int64_t width = 0;
  std::int64_t height = 0;

  [[nodiscard]] std::int64_t cells() const { return width * height; }
  friend bool operator==(const Block&, const Block&) = default;
};

/// A grid of width x height cells cut into one block per rank, ranks in rows, row by row. Of all such cuts
/// the one with the fewest cells along its edges. Where sides do not divide, the first blocks have a cell
/// more. Worked number: 6 ranks, 90 x 40 cells: 3 columns of 30, 2 rows of 20.
class Decomposition {
 public:
  /// Errors: std::invalid_argument when blocks would have fewer than `least` cells in a direction.
  Decomposition(int ranks, std::int64_t width, std::int64_t height, std::int64_t least = 1);

  [[nodiscard]] int ranks() const { return columns_ * rows_; }
  [[nodiscard]] int columns() const { return columns_; }
  [[nodiscard]] int rows() const { return rows_; }
  [[nodiscard]] std::int64_t width() const { return width_; }
  [[nodiscard]] std::int64_t height() const { return height_; }
  [[nodiscard]] Block block(int rank) const;

 private:
  std::int64_t width_;
  std::int64_t height_;
  int columns_ = 0;
  int rows_ = 0;
};

}  // namespace kadam::insitu
