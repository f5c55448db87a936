// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/dataset.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kadam::workloads {

/// Labelled images as they lie in the files. Shape: pixels [labels.size()][channels][height][width].
struct ImageSet {
  std::int64_t channels = 1;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<std::uint8_t> pixels;
  std::vector<std::uint8_t> labels;

  [[nodiscard]] std::int64_t examples() const { return static_cast<std::int64_t>(labels.size()); }
  [[nodiscard]] std::size_t pixels_per_image() const {
    return static_cast<std::size_t>(channels * height * width);
  }
};

/// Images held in host memory as bytes; a batch gets pixel / 127.5 - 1, that is [-1, 1], and a class per
/// image or per patch.
class ImageDataset final : public Dataset {
 public:
  /// Errors: std::invalid_argument when the two sets differ in shape, are empty, or a label is not below
  /// `classes`.
  ImageDataset(std::string name, ImageSet training, ImageSet held_out, std::int64_t classes);

  /// Replaces the class of each image by a class for each patch of patch x patch pixels, see patch_classes()
  /// in images.cpp. Errors: std::invalid_argument when patches do not fill the images.
  void segment(std::int64_t patch);

  [[nodiscard]] std::string description() const override;
  [[nodiscard]] DataShape shape() const override { return shape_; }
  [[nodiscard]] std::int64_t training_examples() const override { return training_.examples(); }
  [[nodiscard]] std::int64_t held_out_examples() const override { return held_out_.examples(); }
  [[nodiscard]] std::span<const std::uint8_t> training_labels() const override { return training_.labels; }
  void training_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices, std::int64_t epoch,
                      Batch& batch) const override;
  void held_out_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                      Batch& batch) const override;

 private:
  std::string name_;
  ImageSet training_;
  ImageSet held_out_;
  DataShape shape_;
};

}  // namespace kadam::workloads
