// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/python/call_arrays.hpp>

namespace kadam::python {

ParameterArrays::ParameterArrays(const char* name, nb::handle parameters, nb::handle model,
                                 std::int64_t elements)
    : master_(parameters, {name, elements, true}), vectors_("kadam::python", elements, master_.needs_copy()) {
  master_.require_float32();
  if (model.is_none()) return;
  model_.emplace(model, ArrayUse{"model", elements, true});
  vectors_.set_model(model_->data(), model_->half_format(), model_->needs_copy());
}

Parameters ParameterArrays::in(const ExecutionSpace& exec) {
  return vectors_.in(exec, master_data());
}

Parameters ParameterArrays::out(const ExecutionSpace& exec) {
  return vectors_.out(exec, master_data());
}

void ParameterArrays::give_back(const ExecutionSpace& exec, const Parameters& written) {
  vectors_.give_back(exec, written, master_data());
  if (master_.is_on_host() || (model_ && model_->is_on_host())) exec.fence("kadam::python: host memory");
}

ReadParameters::ReadParameters(const char* name, nb::handle parameters, std::int64_t elements)
    : elements_(elements),
      array_(parameters, {name, elements, false}),
      copy_("kadam::python::parameters", array_.needs_copy()) {
  array_.require_float32();
}

Vector<float> ReadParameters::in(const ExecutionSpace& exec) {
  return copy_.in(exec, static_cast<float*>(array_.data()), elements_);
}

GradientArray::GradientArray(nb::handle gradient, NumberFormat format, std::int64_t elements)
    : elements_(elements),
      format_(format),
      array_(gradient, {"gradient", elements, false}),
      copy_("kadam::python::gradient", array_.needs_copy()) {
  array_.require_gradients(format);
}

Gradient GradientArray::in(const ExecutionSpace& exec) {
  return caller::gradient_in(exec, copy_, array_.data(), format_, elements_);
}

}  // namespace kadam::python
