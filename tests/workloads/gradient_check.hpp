// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace kadam::test {

using Loss = std::function<double(const std::vector<double>&)>;

/// Central difference of `loss` along `direction` at `x`.
inline double directional_derivative(const Loss& loss, const std::vector<double>& x,
                                     const std::vector<double>& direction) {
  constexpr double h = 1e-6;
  std::vector<double> forward = x;
  std::vector<double> backward = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    forward[i] += h * direction[i];
    backward[i] -= h * direction[i];
  }
  return (loss(forward) - loss(backward)) / (2.0 * h);
}

/// Every partial derivative, one by one.
inline std::vector<double> numeric_gradient(const Loss& loss, std::vector<double> x) {
  constexpr double h = 1e-6;
  std::vector<double> gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double old = x[i];
    x[i] = old + h;
    const double forward = loss(x);
    x[i] = old - h;
    gradient[i] = (forward - loss(x)) / (2.0 * h);
    x[i] = old;
  }
  return gradient;
}

/// "" if each element is within `tolerance` of its tensor's largest; else the tensor and the worst element.
inline std::string first_mismatch(const TensorLayout& layout, const std::vector<float>& gradient,
                                  const std::vector<double>& expected, double tolerance = 5e-5) {
  for (const Tensor& tensor : layout.tensors()) {
    double largest = 0.0;
    for (std::int64_t i = tensor.begin; i < tensor.end; ++i) {
      largest = std::max(largest, std::abs(expected[static_cast<std::size_t>(i)]));
    }
    if (largest == 0.0) {
      return tensor.name + ": the expected gradient is zero, which tests nothing";
    }
    for (std::int64_t i = tensor.begin; i < tensor.end; ++i) {
      const double got = static_cast<double>(gradient[static_cast<std::size_t>(i)]);
      const double want = expected[static_cast<std::size_t>(i)];
      if (!(std::abs(got - want) <= tolerance * largest)) {
        return tensor.name + "[" + std::to_string(i - tensor.begin) + "]: " + std::to_string(got) +
               ", expected " + std::to_string(want) + " (largest " + std::to_string(largest) + ")";
      }
    }
  }
  return "";
}

}  // namespace kadam::test
