// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/execution.hpp>
#include <kadam/python/array.hpp>

#include <stdexcept>
#include <string>

namespace kadam::python {
namespace {

/// As DLPack numbers them.
bool is_host(int device_type) {
  return device_type == nb::device::cpu::value || device_type == nb::device::cuda_host::value ||
         device_type == nb::device::rocm_host::value;
}

const char* name_of_device(int device_type) {
  if (is_host(device_type)) return "the host";
  if (device_type == nb::device::cuda::value || device_type == nb::device::cuda_managed::value)
    return "a CUDA device";
  return device_type == nb::device::rocm::value ? "a ROCm device" : "another device";
}

bool is_of_kokkos(int device_type) {
#if defined(KOKKOS_ENABLE_CUDA)
  return device_type == nb::device::cuda::value || device_type == nb::device::cuda_managed::value;
#elif defined(KOKKOS_ENABLE_HIP)
  return device_type == nb::device::rocm::value;
#else
  (void)device_type;
  return false;
#endif
}

std::string name_of_type(const nb::dlpack::dtype& type) {
  using Code = nb::dlpack::dtype_code;
  const std::string bits = std::to_string(type.bits);
  switch (static_cast<Code>(type.code)) {
    case Code::Int:
      return "int" + bits;
    case Code::UInt:
      return "uint" + bits;
    case Code::Float:
      return "float" + bits;
    case Code::Bfloat:
      return "bfloat" + bits;
    case Code::Complex:
      return "complex" + bits;
    case Code::Bool:
      return "bool";
    default:
      return "another type of " + bits + " bits";
  }
}

bool is_type(const nb::dlpack::dtype& type, nb::dlpack::dtype_code code, int bits) {
  return type.code == static_cast<std::uint8_t>(code) && type.bits == bits && type.lanes == 1;
}

bool is_contiguous(const nb::ndarray<nb::ro>& array) {
  std::int64_t expected = 1;
  for (std::size_t k = array.ndim(); k-- > 0;) {
    if (array.shape(k) > 1 && array.stride(k) != expected) return false;
    expected *= static_cast<std::int64_t>(array.shape(k));
  }
  return true;
}

[[noreturn]] void refuse_source(nb::handle source, const std::string& name) {
  throw nb::type_error((name +
                        ": expected an array of NumPy, PyTorch, CuPy, JAX or whatever else has DLPack or a "
                        "buffer, got " +
                        nb::type_name(source.type()).c_str())
                           .c_str());
}

nb::ndarray<nb::ro> import_array(nb::handle source, const ArrayUse& use) {
  nb::ndarray<nb::ro> array;
  nb::ndarray<> writable;
  const bool imported =
      use.is_written ? nb::try_cast(source, writable, false) : nb::try_cast(source, array, false);
  if (imported) return use.is_written ? nb::ndarray<nb::ro>(writable) : array;
  if (use.is_written && nb::try_cast(source, array, false)) {
    throw std::invalid_argument(std::string(use.name) +
                                " is read-only, and is written in place: pass an array that may be written");
  }
  refuse_source(source, use.name);
}

}  // namespace

Array::Array(nb::handle source, const ArrayUse& use) : name_(use.name), source_(import_array(source, use)) {
  const std::string name = name_;
  if (static_cast<std::int64_t>(source_.size()) != use.elements) {
    throw std::invalid_argument(name + " has " + std::to_string(source_.size()) +
                                " elements, the tensors have " + std::to_string(use.elements) +
                                ": pass one flat array over all tensors");
  }
  if (!is_contiguous(source_)) {
    throw std::invalid_argument(
        name + " is not contiguous: pass an array whose elements follow each other in memory (order C)");
  }
  on_host_ = is_host(source_.device_type());
  if (!on_host_ && !is_of_kokkos(source_.device_type())) {
    throw std::invalid_argument(name + " is on " + name_of_device(source_.device_type()) +
                                ", and this Kadam computes on " + ExecutionSpace::name() +
                                ": pass a copy on the host, or build Kadam with a Kokkos for that device");
  }
  if (!on_host_ && source_.device_id() != Kokkos::device_id()) {
    throw std::invalid_argument(name + " is on device " + std::to_string(source_.device_id()) +
                                ", and Kokkos runs on device " + std::to_string(Kokkos::device_id()) +
                                ": let each rank use the same for both");
  }
  // nb::ro is how arrays come in that are only read; those that are written came in without.
  data_ = const_cast<void*>(static_cast<const void*>(source_.data()));
}

bool Array::needs_copy() const {
  return on_host_ && !kernels_run_on_host;
}

void Array::refuse_type(const char* expected) const {
  throw std::invalid_argument(std::string(name_) + " is " + name_of_type(source_.dtype()) + ", expected " +
                              expected);
}

void Array::require_float32() const {
  if (!is_type(source_.dtype(), nb::dlpack::dtype_code::Float, 32)) refuse_type("float32");
}

NumberFormat Array::half_format() const {
  if (is_type(source_.dtype(), nb::dlpack::dtype_code::Bfloat, 16)) return NumberFormat::bfloat16;
  if (!is_type(source_.dtype(), nb::dlpack::dtype_code::Float, 16)) refuse_type("bfloat16 or float16");
  return NumberFormat::float16;
}

void Array::require_gradients(NumberFormat format) const {
  using Code = nb::dlpack::dtype_code;
  const nb::dlpack::dtype type = source_.dtype();
  if (format == NumberFormat::float32 && !is_type(type, Code::Float, 32))
    refuse_type("float32, as the option gradients says (\"bf16\" and \"fp16\" are others)");
  if (format == NumberFormat::float16 && !is_type(type, Code::Float, 16))
    refuse_type("float16, as the option gradients says");
  if (format == NumberFormat::bfloat16 && !is_type(type, Code::Bfloat, 16) && !is_type(type, Code::UInt, 16))
    refuse_type("bfloat16, as the option gradients says, or its bits as uint16");
}

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
