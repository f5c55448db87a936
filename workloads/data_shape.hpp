// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace kadam::workloads {

/// What one example looks like: an image with its class or with a class per patch, or a window of text.
struct DataShape {
  std::int64_t channels = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t context = 0;  ///< tokens of a window; 0 for images
  std::int64_t classes = 0;  ///< of the prediction: image classes, or different bytes of a text
  std::int64_t masked = 0;   ///< text: tokens of a window to be guessed; 0: each token predicts the next
  std::int64_t patch = 0;    ///< images: side of the squares with a class each; 0: one class per image

  [[nodiscard]] bool is_text() const { return context > 0; }
  [[nodiscard]] std::int64_t pixels() const { return channels * height * width; }
  /// Different tokens that a model may see: the mask is one more.
  [[nodiscard]] std::int64_t vocabulary() const { return masked > 0 ? classes + 1 : classes; }
  /// Predictions per example. Worked number: 28 x 28 pixels in patches of 4 need 49.
  [[nodiscard]] std::int64_t predictions() const {
    if (is_text()) {
      return masked > 0 ? masked : context;
    }
    return patch > 0 ? (height / patch) * (width / patch) : 1;
  }
  friend bool operator==(const DataShape&, const DataShape&) = default;
};

}  // namespace kadam::workloads
