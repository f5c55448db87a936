// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace kadam::workloads {

/// What one example looks like: an image with its class, or a window of text.
struct DataShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t context = 0;  ///< tokens of a window; 0 for images
  std::int64_t classes = 0;  ///< of the prediction: image classes, or the size of the vocabulary

  [[nodiscard]] bool is_text() const { return context > 0; }
  [[nodiscard]] std::int64_t pixels() const { return channels * height * width; }
  friend bool operator==(const DataShape&, const DataShape&) = default;
};

}  // namespace kadam::workloads
