// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/layout/tensor_layout.hpp>

#include <limits>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

std::string range_text(const Tensor& tensor) {
  return "'" + tensor.name + "' [" + std::to_string(tensor.begin) + ", " + std::to_string(tensor.end) + ")";
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text;
  for (const std::int64_t extent : shape) text += (text.empty() ? "" : " x ") + std::to_string(extent);
  return text;
}

/// The elements of a tensor of this shape; none for a negative extent, or for more than 64 bits can count.
std::optional<std::int64_t> elements_of(const std::vector<std::int64_t>& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    if (extent > 0 && elements > std::numeric_limits<std::int64_t>::max() / extent) return std::nullopt;
    elements *= extent;
  }
  return elements;
}

}  // namespace

TensorLayout::TensorLayout(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
  std::set<std::string> names;
  std::int64_t expected = 0;
  for (const Tensor& tensor : tensors_) {
    if (tensor.begin != expected) {
      throw std::invalid_argument("kadam::TensorLayout: tensor " + range_text(tensor) +
                                  " must begin at element " + std::to_string(expected) +
                                  ", where the tensor before it ends: tensors are consecutive and in order");
    }
    if (tensor.end < tensor.begin) {
      throw std::invalid_argument("kadam::TensorLayout: tensor " + range_text(tensor) +
                                  " ends before it begins");
    }
    if (!tensor.shape.empty() && elements_of(tensor.shape) != tensor.elements()) {
      throw std::invalid_argument("kadam::TensorLayout: tensor " + range_text(tensor) + " has the shape " +
                                  shape_text(tensor.shape) + ", which does not make " +
                                  std::to_string(tensor.elements()) + " elements");
    }
    if (!names.insert(tensor.name).second) {
      throw std::invalid_argument("kadam::TensorLayout: two tensors are named '" + tensor.name +
                                  "': give each its own name");
    }
    expected = tensor.end;
  }
}

std::vector<std::int64_t> TensorLayout::boundaries() const {
  std::vector<std::int64_t> boundaries = {0};
  for (const Tensor& tensor : tensors_) boundaries.push_back(tensor.end);
  return boundaries;
}

std::int64_t TensorLayoutBuilder::add(std::string name, std::int64_t elements) {
  const std::int64_t begin = tensors_.empty() ? 0 : tensors_.back().end;
  tensors_.push_back({std::move(name), begin, begin + elements});
  return begin;
}

std::int64_t TensorLayoutBuilder::add(std::string name, std::vector<std::int64_t> shape, bool spectral) {
  const std::optional<std::int64_t> elements = elements_of(shape);
  if (!elements) {
    throw std::invalid_argument("kadam::TensorLayoutBuilder: tensor '" + name + "' has the shape " +
                                shape_text(shape) +
                                "; expected extents of 0 or more, and at most 2^63 - 1 elements");
  }
  const std::int64_t begin = add(std::move(name), *elements);
  tensors_.back().shape = std::move(shape);
  tensors_.back().spectral = spectral;
  return begin;
}

}  // namespace kadam
