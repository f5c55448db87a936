// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/batch_fill.hpp>
#include <workloads/dataset.hpp>
#include <workloads/images.hpp>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace kadam::workloads {
namespace {

constexpr std::uint8_t foreground_above = 31;

/// Segmentation labels made from images that have none: class 0 for a patch without a pixel above
/// `foreground_above`, else 1 + `label`, the class of the whole image. `out` gets the classes of
/// the patches, line by line; pixels are [channels][height][width].
///
/// The pixels of a patch show whether it is foreground, but not which class it belongs to: for that a model
/// has to look at the other patches. Meant for images of one object on a dark ground, as in MNIST and its
/// relatives. In Fashion-MNIST 38 % of the patches of 4 x 4 are background.
///
/// Worked number: a patch of 4 x 4 in which one pixel is 32 belongs to the foreground.
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

void require_consistent(const std::string& name, const ImageSet& set, std::int64_t classes) {
  if (set.labels.empty() || set.pixels_per_image() == 0 ||
      set.pixels.size() != set.labels.size() * set.pixels_per_image()) {
    throw std::invalid_argument(
        "kadam::workloads::ImageDataset: " + name + " has " + std::to_string(set.labels.size()) +
        " labels and " + std::to_string(set.pixels.size()) + " pixels, expected at least one label and " +
        std::to_string(set.pixels_per_image()) + " pixels for each");
  }
  const std::int64_t largest = *std::max_element(set.labels.begin(), set.labels.end());
  if (largest >= classes) {
    throw std::invalid_argument("kadam::workloads::ImageDataset: " + name + " has a label " +
                                std::to_string(largest) + ", expected less than " + std::to_string(classes));
  }
}

void gather(const ExecutionSpace& exec, const ImageSet& set, const DataShape& shape,
            std::span<const std::int64_t> indices, Batch& batch) {
  const std::size_t size = set.pixels_per_image();
  const BatchFill fill(exec, batch, indices.size());
  batch.tokens = {};
  batch.positions = {};
  fill.images(indices.size() * size, [&](float* out) {
    for (const std::int64_t index : indices) {
      const std::uint8_t* const image = set.pixels.data() + static_cast<std::size_t>(index) * size;
      for (std::size_t i = 0; i < size; ++i) {
        *out++ = static_cast<float>(image[i]) * (1.0f / 127.5f) - 1.0f;
      }
    }
  });
  const auto targets = static_cast<std::size_t>(shape.predictions());
  fill.targets(indices.size() * targets, [&](std::int32_t* out) {
    for (const std::int64_t index : indices) {
      const auto at = static_cast<std::size_t>(index);
      if (shape.patch > 0) {
        patch_classes(set.pixels.data() + at * size, set.labels[at], shape, out);
      } else {
        *out = set.labels[at];
      }
      out += targets;
    }
  });
}

}  // namespace

ImageDataset::ImageDataset(std::string name, ImageSet training, ImageSet held_out, std::int64_t classes)
    : name_(std::move(name)),
      training_(std::move(training)),
      held_out_(std::move(held_out)),
      shape_{training_.channels, training_.height, training_.width, 0, classes, 0, 0} {
  require_consistent(name_ + " (training)", training_, classes);
  require_consistent(name_ + " (held out)", held_out_, classes);
  if (held_out_.channels != shape_.channels || held_out_.height != shape_.height ||
      held_out_.width != shape_.width) {
    throw std::invalid_argument("kadam::workloads::ImageDataset: the held-out images of " + name_ +
                                " differ in size from the training images, expected the same");
  }
}

std::string ImageDataset::description() const {
  return name_ + ": " + std::to_string(training_.examples()) + " training and " +
         std::to_string(held_out_.examples()) + " held-out images of " + std::to_string(shape_.channels) +
         " x " + std::to_string(shape_.height) + " x " + std::to_string(shape_.width) + ", " +
         std::to_string(shape_.classes) + " classes" + (shape_.patch > 0 ? " of patches" : "");
}

void ImageDataset::segment(std::int64_t patch) {
  if (patch < 1 || shape_.height % patch != 0 || shape_.width % patch != 0) {
    throw std::invalid_argument("kadam::workloads::ImageDataset: patches of " + std::to_string(patch) +
                                " do not fill images of " + std::to_string(shape_.height) + " x " +
                                std::to_string(shape_.width) + " pixels: take a patch that divides both");
  }
  shape_.classes += shape_.patch > 0 ? 0 : 1;  // the background
  shape_.patch = patch;
}

void ImageDataset::training_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                                  std::int64_t /*epoch*/, Batch& batch) const {
  require_indices("training", indices, training_.examples());
  gather(exec, training_, shape_, indices, batch);
}

void ImageDataset::held_out_batch(const ExecutionSpace& exec, std::span<const std::int64_t> indices,
                                  Batch& batch) const {
  require_indices("held-out", indices, held_out_.examples());
  gather(exec, held_out_, shape_, indices, batch);
}

}  // namespace kadam::workloads
