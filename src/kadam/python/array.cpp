// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/execution.hpp>
#include <kadam/python/array.hpp>

#include <optional>
#include <stdexcept>
#include <string>

namespace kadam::python {
namespace {

bool is_host(DeviceType device) {
  return device == DeviceType::cpu || device == DeviceType::cuda_host || device == DeviceType::rocm_host;
}

const char* name_of_device(DeviceType device) {
  if (is_host(device)) return "the host";
  if (device == DeviceType::cuda || device == DeviceType::cuda_managed) return "a CUDA device";
  return device == DeviceType::rocm ? "a ROCm device" : "another device";
}

bool is_of_kokkos(DeviceType device) {
#if defined(KOKKOS_ENABLE_CUDA)
  return device == DeviceType::cuda || device == DeviceType::cuda_managed;
#elif defined(KOKKOS_ENABLE_HIP)
  return device == DeviceType::rocm;
#else
  (void)device;
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

/// The array in an object, or in a capsule of DLPack; nothing if it is no array. Errors:
/// std::invalid_argument for an array that is to be written and is read-only.
std::optional<nb::ndarray<nb::ro>> array_of(nb::handle exported, const ArrayUse& use) {
  nb::ndarray<> writable;
  if (use.is_written && nb::try_cast(exported, writable, false)) return nb::ndarray<nb::ro>(writable);
  nb::ndarray<nb::ro> array;
  if (!nb::try_cast(exported, array, false)) return std::nullopt;
  if (!use.is_written) return array;
  throw std::invalid_argument(std::string(use.name) +
                              " is read-only, but the call writes into it: pass a writable array");
}

/// The device that an array says it is on; the host if it says nothing.
DeviceType device_of(nb::handle source) {
  nb::tuple device;
  if (!nb::hasattr(source, "__dlpack_device__") ||
      !nb::try_cast(source.attr("__dlpack_device__")(), device) || nb::len(device) != 2)
    return DeviceType::cpu;
  return static_cast<DeviceType>(nb::cast<int>(device[0]));
}

/// An array that its producer makes ready for a stream. Nothing if the producer cannot be asked for that:
/// older ones have no argument for it, and some take nothing but None.
std::optional<nb::ndarray<nb::ro>> array_ready_for(std::int64_t stream, nb::handle source,
                                                   const ArrayUse& use) {
  // PyTorch does not export a tensor that requires a gradient, but exports a detached one.
  const bool has_graph = nb::getattr(source, "requires_grad", nb::none()).is(nb::handle(Py_True));
  const nb::object data =
      has_graph && nb::hasattr(source, "detach") ? source.attr("detach")() : nb::borrow(source);
  for (const bool says_version : {true, false}) {
    nb::dict wishes;
    wishes["stream"] = stream;
    // Capsules of version 1 say whether an array may be written.
    if (says_version) wishes["max_version"] = nb::make_tuple(1, 0);
    nb::object capsule;
    try {
      capsule = data.attr("__dlpack__")(**wishes);
    } catch (const nb::python_error& refusal) {
      if (!refusal.matches(PyExc_Exception)) throw;
      continue;
    }
    if (std::optional<nb::ndarray<nb::ro>> array = array_of(capsule, use)) return array;
  }
  return std::nullopt;
}

nb::ndarray<nb::ro> import_array(nb::handle source, const ArrayUse& use, StreamHandle stream) {
  const DeviceType device = device_of(source);
  if (const std::optional<std::int64_t> number = dlpack_stream(device, stream)) {
    if (std::optional<nb::ndarray<nb::ro>> array = array_ready_for(*number, source, use)) return *array;
  }
  if (std::optional<nb::ndarray<nb::ro>> array = array_of(source, use)) {
    if (!is_host(device)) Kokkos::fence("kadam::python: an array that cannot be asked for a stream");
    return *array;
  }
  throw nb::type_error(
      (std::string(use.name) +
       ": expected an array of NumPy, PyTorch, CuPy or JAX, or another object with DLPack or a buffer, got " +
       nb::type_name(source.type()).c_str())
          .c_str());
}

}  // namespace

Array::Array(nb::handle source, const ArrayUse& use, StreamHandle stream)
    : name_(use.name), source_(import_array(source, use, stream)) {
  const std::string name = name_;
  const auto device = static_cast<DeviceType>(source_.device_type());
  if (static_cast<std::int64_t>(source_.size()) != use.elements) {
    throw std::invalid_argument(name + " has " + std::to_string(source_.size()) +
                                " elements, the tensors have " + std::to_string(use.elements) +
                                ": pass one flat array over all tensors");
  }
  if (!is_contiguous(source_)) {
    throw std::invalid_argument(
        name + " is not contiguous: pass an array whose elements follow each other in memory (order C)");
  }
  on_host_ = is_host(device);
  if (!on_host_ && !is_of_kokkos(device)) {
    throw std::invalid_argument(name + " is on " + name_of_device(device) + ", but this Kadam computes on " +
                                ExecutionSpace::name() +
                                ": pass a copy on the host, or build Kadam with a Kokkos for that device");
  }
  if (!on_host_ && source_.device_id() != Kokkos::device_id()) {
    throw std::invalid_argument(name + " is on device " + std::to_string(source_.device_id()) +
                                ", but Kokkos runs on device " + std::to_string(Kokkos::device_id()) +
                                ": use the same device for both on each rank");
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
    refuse_type("float32, as the option 'gradients' says (it also takes \"bf16\" and \"fp16\")");
  if (format == NumberFormat::float16 && !is_type(type, Code::Float, 16))
    refuse_type("float16, as the option 'gradients' says");
  if (format == NumberFormat::bfloat16 && !is_type(type, Code::Bfloat, 16) && !is_type(type, Code::UInt, 16))
    refuse_type("bfloat16, as the option 'gradients' says, or its bits as uint16");
}

ParameterArrays::ParameterArrays(const char* name, nb::handle parameters, nb::handle model,
                                 std::int64_t elements, StreamHandle stream)
    : master_(parameters, {name, elements, true}, stream) {
  master_.require_float32();
  if (model.is_none()) return;
  model_.emplace(model, ArrayUse{"model", elements, true}, stream);
  (void)model_->half_format();
}

caller::CallerParameters& ParameterArrays::vectors_in(ArrayCopies& copies) const {
  copies.parameters.set_copied(master_.needs_copy());
  if (model_) {
    copies.parameters.set_model(model_->data(), model_->half_format(), model_->needs_copy());
  } else {
    copies.parameters.set_model(nullptr, NumberFormat::bfloat16, false);
  }
  return copies.parameters;
}

Parameters ParameterArrays::in(const ExecutionSpace& exec, ArrayCopies& copies) const {
  return vectors_in(copies).in(exec, master_data());
}

Parameters ParameterArrays::out(const ExecutionSpace& exec, ArrayCopies& copies) const {
  return vectors_in(copies).out(exec, master_data());
}

void ParameterArrays::give_back(const ExecutionSpace& exec, ArrayCopies& copies,
                                const Parameters& written) const {
  copies.parameters.give_back(exec, written, master_data());
  if (master_.is_on_host() || (model_ && model_->is_on_host())) exec.fence("kadam::python: host memory");
}

ReadParameters::ReadParameters(const char* name, nb::handle parameters, std::int64_t elements,
                               StreamHandle stream)
    : elements_(elements), array_(parameters, {name, elements, false}, stream) {
  array_.require_float32();
}

Vector<float> ReadParameters::in(const ExecutionSpace& exec, ArrayCopies& copies) const {
  copies.read.set_copies(array_.needs_copy());
  const Vector<float> parameters = copies.read.in(exec, static_cast<float*>(array_.data()), elements_);
  // What the call writes may be on the device: nothing else would wait for the copy.
  if (array_.needs_copy()) exec.fence("kadam::python: host memory was read");
  return parameters;
}

GradientArray::GradientArray(nb::handle gradient, NumberFormat format, std::int64_t elements,
                             StreamHandle stream)
    : elements_(elements), format_(format), array_(gradient, {"gradient", elements, false}, stream) {
  array_.require_gradients(format);
}

Gradient GradientArray::in(const ExecutionSpace& exec, ArrayCopies& copies) const {
  copies.read.set_copies(array_.needs_copy());
  return caller::gradient_in(exec, copies.read, array_.data(), format_, elements_);
}

}  // namespace kadam::python
