// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/optim/optimizer.hpp>
#include <support/host_views.hpp>

#include <string>
#include <vector>

namespace kadam::test {

template <Number T>
Vector<T> rounded_to_device(const std::vector<float>& values) {
  std::vector<T> rounded;
  rounded.reserve(values.size());
  for (const float value : values) rounded.push_back(round_to<T>(value));
  return to_device(rounded);
}

/// A gradient on the device, in the format that a value of the option `gradients` names.
inline Gradient to_gradient(const std::string& format, const std::vector<float>& values) {
  if (format == "bf16") return rounded_to_device<Bfloat16>(values);
  if (format == "fp16") return rounded_to_device<Float16>(values);
  return to_device(values);
}

/// Number of elements of a model that are not bitwise the rounded parameters.
template <Number T>
std::size_t differs(const Vector<T>& model, const Vector<float>& parameters) {
  Kokkos::fence();
  const std::vector<T> got = to_host(model);
  const std::vector<float> master = to_host(parameters);
  std::size_t count = 0;
  for (std::size_t i = 0; i < got.size(); ++i) count += got[i].bits == round_to<T>(master[i]).bits ? 0U : 1U;
  return count;
}

}  // namespace kadam::test
