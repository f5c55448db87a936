// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/execution.hpp>
#include <kadam/kernels/number_format.hpp>

#include <cstdint>

namespace kadam::bench {

/// The vectors that all cases share, so that large sizes fit in memory. Memory: 30 B per element.
struct Vectors {
  explicit Vectors(std::int64_t size);

  std::int64_t elements;
  Vector<float> x;
  Vector<float> m;
  Vector<float> v;
  Vector<float> gradient;
  Vector<Bfloat16> bfloat16_gradient;  ///< the same gradient, rounded
  Vector<Float16> float16_gradient;
  Vector<Bfloat16> model;  ///< a rounded copy of x
  Vector<float> error;
  Vector<std::uint32_t> words;  ///< messages: room for d float32 words
};

/// Numbers of both signs whose sizes spread over some decades, as gradients do: element i has the same value
/// in every run.
void fill(const ExecutionSpace& exec, const Vector<float>& values, float size, std::uint32_t seed);

}  // namespace kadam::bench
