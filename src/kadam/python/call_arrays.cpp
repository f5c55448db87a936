// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/python/call_arrays.hpp>

namespace kadam::python {

ParameterArrays::ParameterArrays(const char* name, nb::handle parameters, nb::handle model,
                                 std::int64_t elements)
    : elements_(elements),
      master_(parameters, {name, elements, true}),
      master_copy_("kadam::python::parameters", master_.needs_copy()),
      model_copy_("kadam::python::model", false) {
  master_.require_float32();
  if (model.is_none()) return;
  model_.emplace(model, ArrayUse{"model", elements, true});
  model_format_ = model_->half_format();
  model_copy_ = c_api::CallerArray("kadam::python::model", model_->needs_copy());
}

template <class Use>
auto ParameterArrays::in_model_format(const Use& use) {
  if (model_format_ == NumberFormat::float16) return use(static_cast<Float16*>(model_->data()));
  return use(static_cast<Bfloat16*>(model_->data()));
}

Parameters ParameterArrays::with_model(const ExecutionSpace& exec, const Vector<float>& master) {
  master_view_ = master;
  if (!model_) return master;
  return in_model_format([&](auto* numbers) -> Parameters {
    return {master, model_copy_.out(exec, numbers, elements_)};
  });
}

Parameters ParameterArrays::in(const ExecutionSpace& exec) {
  return with_model(exec, master_copy_.in(exec, master_data(), elements_));
}

Parameters ParameterArrays::out(const ExecutionSpace& exec) {
  return with_model(exec, master_copy_.out(exec, master_data(), elements_));
}

void ParameterArrays::give_back(const ExecutionSpace& exec) {
  master_copy_.give_back(exec, master_view_, master_data());
  if (model_) {
    in_model_format([&](auto* numbers) {
      model_copy_.give_back(exec, model_copy_.out(exec, numbers, elements_), numbers);
    });
  }
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
  switch (format_) {
    case NumberFormat::bfloat16:
      return copy_.in(exec, static_cast<Bfloat16*>(array_.data()), elements_);
    case NumberFormat::float16:
      return copy_.in(exec, static_cast<Float16*>(array_.data()), elements_);
    default:
      return copy_.in(exec, static_cast<float*>(array_.data()), elements_);
  }
}

}  // namespace kadam::python
