// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <workloads/matrix.hpp>

#include <string>

namespace kadam::workloads {

enum class Activation { relu, gelu };

/// Errors: std::invalid_argument when `name` is neither "relu" nor "gelu".
[[nodiscard]] Activation activation_named(const std::string& name);

/// output = f(input), element by element. Memory: 8 B per element.
void activation_forward(const ExecutionSpace& exec, Activation activation, const Matrix<const float>& input,
                        const Matrix<float>& output);

/// gradient *= f'(input): turns the gradient of f's output into the gradient of its input, in place.
/// Memory: 12 B per element.
void activation_backward(const ExecutionSpace& exec, Activation activation, const Matrix<const float>& input,
                         const Matrix<float>& gradient);

}  // namespace kadam::workloads
