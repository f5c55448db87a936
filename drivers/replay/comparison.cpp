// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <replay/comparison.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kadam::replay {
namespace {

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

double square(double value) {
  return value * value;
}

/// Whether a way is no longer than the rounding error of y + (x - y). With sparse messages x may not move at
/// all.
bool is_rounding(double way, float y, float start) {
  return std::fabs(way) <= 2e-7 * std::max(std::fabs(y), std::fabs(start));
}

/// value / reference; nothing if the reference is 0.
std::optional<double> ratio(double value, double reference) {
  if (reference == 0.0) return std::nullopt;
  return value / reference;
}

}  // namespace

Comparison::Comparison(const ExecutionSpace& exec, std::shared_ptr<Communicator> communicator,
                       const TensorLayout& tensors, std::vector<double> rates, std::span<const float> start)
    : communicator_(std::move(communicator)),
      tensors_(tensors.tensors()),
      rates_(std::move(rates)),
      start_(start.begin(), start.end()),
      mean_(start_),
      difference_(allocate<float>(exec, "kadam-replay::difference", tensors.elements())),
      host_(Kokkos::create_mirror_view(difference_)),
      largest_steps_(tensors_.size()),
      largest_apart_(tensors_.size() + 1) {
  exec.fence("kadam-replay: memory is there");
}

void Comparison::add(const ExecutionSpace& exec, const StepResult& result, bool is_dense,
                     std::span<const float> own, std::span<const float> dense) {
  if (is_dense && compared_ == 0) {
    std::copy(dense.begin(), dense.end(), start_.begin());
    std::copy(dense.begin(), dense.end(), mean_.begin());
    return;
  }
  ++compared_;
  largest_rate_ = std::max(largest_rate_, result.learning_rate);
  write_difference(exec, own, dense);
  note_apart(own, dense);
  for (std::size_t k = 0; k < tensors_.size(); ++k) note_largest_step(k, dense);
  for (std::size_t i = 0; i < mean_.size(); ++i) mean_[i] = dense[i] + host_(i);
}

/// The mean of differences, which are small, loses less to rounding than that of parameters.
void Comparison::write_difference(const ExecutionSpace& exec, std::span<const float> own,
                                  std::span<const float> dense) {
  for (std::size_t i = 0; i < own.size(); ++i) host_(i) = own[i] - dense[i];
  Kokkos::deep_copy(exec, difference_, host_);
  communicator_->all_reduce_sum(exec, difference_);
  Kokkos::deep_copy(exec, host_, difference_);
  exec.fence("kadam-replay: differences are on the host");
  const float share = 1.0F / static_cast<float>(communicator_->size());
  for (std::size_t i = 0; i < own.size(); ++i) host_(i) *= share;
}

void Comparison::note_apart(std::span<const float> own, std::span<const float> dense) {
  std::vector<double> squares(tensors_.size() + 1);
  for (std::size_t k = 0; k < tensors_.size(); ++k) {
    for (std::size_t i = index(tensors_[k].begin); i < index(tensors_[k].end); ++i) {
      squares[k] += square(static_cast<double>(own[i] - dense[i]) - static_cast<double>(host_(i)));
    }
    squares.back() += squares[k];
  }
  const std::vector<double> all = communicator_->all_gather_values(squares);
  for (std::size_t k = 0; k < squares.size(); ++k) {
    double sum = 0.0;
    for (std::size_t at = k; at < all.size(); at += squares.size()) sum += all[at];
    largest_apart_[k] = std::max(largest_apart_[k], sum / communicator_->size());
  }
}

/// Call before mean_ is updated: it still holds x of the step before.
void Comparison::note_largest_step(std::size_t tensor, std::span<const float> dense) {
  double largest = 0.0;
  for (std::size_t i = index(tensors_[tensor].begin); i < index(tensors_[tensor].end); ++i) {
    largest = std::max(largest, std::fabs(static_cast<double>(dense[i]) + static_cast<double>(host_(i)) -
                                          static_cast<double>(mean_[i])));
  }
  if (rates_[tensor] > 0.0)
    largest_steps_[tensor] = std::max(largest_steps_[tensor], largest / rates_[tensor]);
}

std::vector<Figures> Comparison::figures(std::span<const float> dense) const {
  std::vector<Figures> all;
  for (std::size_t k = 0; k < tensors_.size(); ++k)
    all.push_back(figures_of(tensors_[k], largest_steps_[k], largest_apart_[k], dense));
  const double largest =
      largest_steps_.empty() ? 0.0 : *std::max_element(largest_steps_.begin(), largest_steps_.end());
  const auto elements = static_cast<std::int64_t>(dense.size());
  all.push_back(figures_of({"", 0, elements}, largest, largest_apart_.back(), dense));
  return all;
}

Figures Comparison::figures_of(const Tensor& range, double largest_step, double apart,
                               std::span<const float> dense) const {
  double distance = 0.0;
  double length = 0.0;
  double dense_length = 0.0;
  double moved = 0.0;
  double agreeing = 0.0;
  for (std::size_t i = index(range.begin); i < index(range.end); ++i) {
    const double of_dense = static_cast<double>(dense[i]) - static_cast<double>(start_[i]);
    const double of_mean = static_cast<double>(mean_[i]) - static_cast<double>(start_[i]);
    distance += square(of_mean - of_dense);
    length += square(of_mean);
    dense_length += square(of_dense);
    if (of_dense == 0.0 || is_rounding(of_mean, dense[i], start_[i])) continue;
    moved += 1.0;
    if (of_mean * of_dense > 0.0) agreeing += 1.0;
  }
  const double way = std::sqrt(dense_length);
  return {ratio(std::sqrt(distance), way), ratio(std::sqrt(length), way), ratio(agreeing, moved),
          ratio(largest_step, largest_rate_), ratio(std::sqrt(apart), way)};
}

}  // namespace kadam::replay
