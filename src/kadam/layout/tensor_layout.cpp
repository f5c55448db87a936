// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/layout/tensor_layout.hpp>

#include <set>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

std::string range_text(const Tensor& tensor) {
  return "'" + tensor.name + "' [" + std::to_string(tensor.begin) + ", " + std::to_string(tensor.end) + ")";
}

}  // namespace

TensorLayout::TensorLayout(std::vector<Tensor> tensors) : tensors_(std::move(tensors)) {
  std::set<std::string> names;
  std::int64_t expected = 0;
  for (const Tensor& tensor : tensors_) {
    if (tensor.begin != expected) {
      throw std::invalid_argument("kadam::TensorLayout: tensor " + range_text(tensor) +
                                  " must begin at element " + std::to_string(expected) +
                                  ", where the one before it ends: tensors are consecutive and in order");
    }
    if (tensor.end < tensor.begin) {
      throw std::invalid_argument("kadam::TensorLayout: tensor " + range_text(tensor) +
                                  " ends before it begins");
    }
    if (!names.insert(tensor.name).second) {
      throw std::invalid_argument("kadam::TensorLayout: two tensors are named '" + tensor.name +
                                  "': give each its own name");
    }
    expected = tensor.end;
  }
}

std::int64_t TensorLayoutBuilder::add(std::string name, std::int64_t elements) {
  const std::int64_t begin = tensors_.empty() ? 0 : tensors_.back().end;
  tensors_.push_back({std::move(name), begin, begin + elements});
  return begin;
}

}  // namespace kadam
