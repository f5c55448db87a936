// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/python/arguments.hpp>

#include <cstdint>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

namespace kadam::python {
namespace {

std::string type_of(nb::handle value) {
  return nb::type_name(value.type()).c_str();
}

[[noreturn]] void refuse(const std::string& name, const std::string& expected, nb::handle got) {
  throw std::invalid_argument(name + ": expected " + expected + ", got " + type_of(got) + " " +
                              nb::repr(got).c_str());
}

/// The value of an integer of Python, NumPy or another library; nothing if it is no integer, or too large.
std::optional<std::int64_t> integer_in(nb::handle value) {
  if (PyIndex_Check(value.ptr()) == 0) return std::nullopt;
  const long long number = PyLong_AsLongLong(nb::steal(PyNumber_Index(value.ptr())).ptr());
  if (PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  return std::nullopt;
}

std::optional<double> number_in(nb::handle value) {
  if (PyNumber_Check(value.ptr()) == 0 || PyBool_Check(value.ptr())) return std::nullopt;
  const double number = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() == nullptr) return number;
  PyErr_Clear();
  return std::nullopt;
}

double number_of(const std::string& name, nb::handle value) {
  const std::optional<double> number = number_in(value);
  if (!number) refuse(name, "a number", value);
  return *number;
}

OptionValue option_of(const std::string& name, nb::handle value) {
  if (PyBool_Check(value.ptr())) return value.is(nb::handle(Py_True));
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    std::vector<double> numbers;
    for (const nb::handle element : value) numbers.push_back(number_of(name, element));
    return numbers;
  }
  if (const std::optional<std::int64_t> integer = integer_in(value)) return *integer;
  if (const std::optional<double> number = number_in(value)) return *number;
  refuse(name, "a number, a text, True or False, or a list of numbers", value);
}

std::int64_t count_of(const std::string& name, nb::handle value) {
  const std::optional<std::int64_t> count = integer_in(value);
  if (!count || *count < 0) refuse(name, "a number of elements (0 or more), or a shape", value);
  return *count;
}

void add_tensor(TensorLayoutBuilder& layout, const std::string& name, nb::handle value) {
  const std::string argument = "tensor '" + name + "'";
  if (!nb::isinstance<nb::sequence>(value) || nb::isinstance<nb::str>(value)) {
    layout.add(name, count_of(argument, value));
    return;
  }
  std::vector<std::int64_t> shape;
  for (const nb::handle extent : value) shape.push_back(count_of(argument, extent));
  layout.add(name, std::move(shape));
}

/// A group from a dict, in which None stands for a field that is not given.
ParameterGroup group_of(nb::handle description) {
  if (!nb::isinstance<nb::dict>(description)) refuse("groups", "a list of dicts", description);
  OptionMap values;
  for (const auto& [key, value] : nb::borrow<nb::dict>(description)) {
    const std::string name = nb::str(key).c_str();
    if (!value.is_none()) values[name] = option_of("groups, option '" + name + "'", value);
  }
  return read_group("groups", values);
}

}  // namespace

OptionMap options_from(const nb::dict& options) {
  OptionMap values;
  for (const auto& [key, value] : options) {
    const std::string name = nb::str(key).c_str();
    values[name] = option_of("option '" + name + "'", value);
  }
  return values;
}

TensorLayout tensors_from(nb::handle tensors) {
  if (!nb::isinstance<nb::dict>(tensors))
    refuse("tensors", "a dict from names to numbers of elements or shapes", tensors);
  TensorLayoutBuilder layout;
  for (const auto& [key, value] : nb::borrow<nb::dict>(tensors)) {
    if (!nb::isinstance<nb::str>(key)) refuse("tensors", "texts as names", key);
    add_tensor(layout, nb::cast<std::string>(key), value);
  }
  return layout.build();
}

std::vector<ParameterGroup> groups_from(nb::handle groups) {
  if (!nb::isinstance<nb::list>(groups) && !nb::isinstance<nb::tuple>(groups))
    refuse("groups", "a list of dicts", groups);
  std::vector<ParameterGroup> all;
  for (const nb::handle group : groups) all.push_back(group_of(group));
  return all;
}

nb::object to_python(const OptionValue& value) {
  return std::visit([](const auto& held) { return nb::cast(held); }, value);
}

nb::dict to_python(const OptionMap& options) {
  nb::dict all;
  for (const auto& [name, value] : options) all[name.c_str()] = to_python(value);
  return all;
}

nb::list to_python(const std::vector<ParameterGroup>& groups) {
  nb::list all;
  for (const ParameterGroup& group : groups) {
    nb::dict one;
    one["tensors"] = group.tensors;
    one["lr_scale"] = group.lr_scale;
    one["weight_decay"] = group.weight_decay ? nb::cast(*group.weight_decay) : nb::none();
    one["dense"] = group.dense;
    all.append(one);
  }
  return all;
}

nb::dict to_python(const TensorLayout& tensors) {
  nb::dict all;
  for (const Tensor& tensor : tensors.tensors()) {
    all[tensor.name.c_str()] = nb::make_tuple(tensor.begin, tensor.end);
  }
  return all;
}

}  // namespace kadam::python
