// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/absent_gradients.hpp>

#include <algorithm>

namespace kadam {
namespace {

constexpr std::size_t bits_per_word = 52;  // a float64 holds such numbers exactly

/// Of the tensors of one word: bit k stands for tensor word * bits_per_word + k.
std::uint64_t word_of(const std::vector<bool>& mask, std::size_t word) {
  std::uint64_t bits = 0;
  const std::size_t begin = word * bits_per_word;
  for (std::size_t k = begin; k < std::min(begin + bits_per_word, mask.size()); ++k) {
    if (mask[k]) bits |= std::uint64_t{1} << (k - begin);
  }
  return bits;
}

}  // namespace

void AbsentGradients::name(std::span<const std::size_t> tensors, std::size_t count) {
  named_.clear();
  if (tensors.empty()) return;
  named_.resize(count);
  for (const std::size_t tensor : tensors) named_[tensor] = true;
}

void AbsentGradients::agree(Communicator& communicator) {
  const std::size_t words = (named_.size() + bits_per_word - 1) / bits_per_word;
  std::vector<double> own;
  for (std::size_t word = 0; word < words; ++word) own.push_back(static_cast<double>(word_of(named_, word)));
  const std::vector<double> all = communicator.all_gather_values(own);
  left_out_ = named_;
  for (std::size_t k = 0; k < left_out_.size(); ++k) {
    const std::uint64_t bit = std::uint64_t{1} << (k % bits_per_word);
    for (std::size_t at = k / bits_per_word; at < all.size(); at += words) {
      if ((static_cast<std::uint64_t>(all[at]) & bit) == 0) left_out_[k] = false;
    }
  }
  if (std::find(left_out_.begin(), left_out_.end(), true) == left_out_.end()) left_out_.clear();
}

void AbsentGradients::end_step() {
  if (!left_out_.empty()) {
    steps_left_out_.resize(left_out_.size(), 0.0);
    for (std::size_t k = 0; k < left_out_.size(); ++k) {
      if (left_out_[k]) steps_left_out_[k] += 1.0;
    }
  }
  named_.clear();
  left_out_.clear();
}

std::vector<AbsentGradients::Run> AbsentGradients::runs(const TensorLayout& layout) const {
  std::vector<Run> all;
  for (std::size_t k = 0; k < layout.tensors().size(); ++k) {
    const Tensor& tensor = layout.tensors()[k];
    if (tensor.elements() == 0) continue;
    const bool is_left_out = !left_out_.empty() && left_out_[k];
    const std::int64_t steps = steps_left_out_.empty() ? 0 : static_cast<std::int64_t>(steps_left_out_[k]);
    const bool joins = !all.empty() && all.back().is_left_out == is_left_out &&
                       (is_left_out || all.back().steps_left_out == steps);
    if (joins) {
      all.back().range.end = tensor.end;
    } else {
      all.push_back({{tensor.begin, tensor.end}, is_left_out, steps});
    }
  }
  return all;
}

void AbsentGradients::forget(std::size_t count) {
  named_.clear();
  left_out_.clear();
  steps_left_out_.assign(count, 0.0);
}

void AbsentGradients::describe_state(StateFields& fields) {
  if (!steps_left_out_.empty()) fields.number_if_there("steps_left_out", steps_left_out_);
}

void AbsentGradients::adopt_state() {
  const auto is_zero = [](double steps) { return steps == 0.0; };
  if (std::all_of(steps_left_out_.begin(), steps_left_out_.end(), is_zero)) steps_left_out_.clear();
}

}  // namespace kadam
