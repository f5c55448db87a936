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

// Converts what an optimizer is made from between Python and C++. Errors of all ..._from():
// std::invalid_argument that names the argument.

/// Options from a dict of names and values: a truth value, a number, a text or a list of numbers, of Python
/// or NumPy.
[[nodiscard]] OptionMap options_from(const nb::dict& options);
/// Tensors from a dict, in the order of the flat vector: of names, and numbers of elements or shapes.
[[nodiscard]] TensorLayout tensors_from(nb::handle tensors);
/// Groups from a list of dicts with the fields of ParameterGroup.
[[nodiscard]] std::vector<ParameterGroup> groups_from(nb::handle groups);

/// The same for Python; of tensors, the first and the last + 1 element by name.
[[nodiscard]] nb::object to_python(const OptionValue& value);
[[nodiscard]] nb::dict to_python(const OptionMap& options);
[[nodiscard]] nb::list to_python(const std::vector<ParameterGroup>& groups);
[[nodiscard]] nb::dict to_python(const TensorLayout& tensors);

}  // namespace kadam::python
