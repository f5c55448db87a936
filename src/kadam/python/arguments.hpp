// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/options/parameter_groups.hpp>

#include <nanobind/nanobind.h>
#include <string>
#include <vector>

namespace kadam::python {

namespace nb = nanobind;

/// What an optimizer is made from, as Python says it. Errors of all: std::invalid_argument with the name of
/// what is wrong.
///
/// Options by name: a truth value, a number, a text or a list of numbers, of Python or NumPy.
[[nodiscard]] OptionMap options_from(const nb::dict& options);
/// Tensors by name, in the order of the flat vector: a number of elements, or a shape.
[[nodiscard]] TensorLayout tensors_from(nb::handle tensors);
/// A list of dicts with the fields of ParameterGroup.
[[nodiscard]] std::vector<ParameterGroup> groups_from(nb::handle groups);

/// And back.
[[nodiscard]] nb::object to_python(const OptionValue& value);
[[nodiscard]] nb::dict to_python(const OptionMap& options);
[[nodiscard]] nb::list to_python(const std::vector<ParameterGroup>& groups);
[[nodiscard]] nb::dict to_python(const TensorLayout& tensors);

}  // namespace kadam::python
