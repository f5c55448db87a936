// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/patch_classes.hpp>

#include <algorithm>

namespace kadam::workloads {

void patch_classes(const std::uint8_t* image, std::uint8_t label, const DataShape& shape, std::int32_t* out) {
  const std::int64_t across = shape.width / shape.patch;
  std::fill_n(out, shape.predictions(), 0);
  for (std::int64_t line = 0; line < shape.channels * shape.height; ++line) {
    std::int32_t* const row = out + line % shape.height / shape.patch * across;
    const std::uint8_t* const pixels = image + line * shape.width;
    for (std::int64_t x = 0; x < shape.width; ++x) {
      if (pixels[x] > foreground_above) {
        row[x / shape.patch] = 1 + label;
      }
    }
  }
}

}  // namespace kadam::workloads
