// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/caller/caller_vectors.hpp>

namespace kadam::caller {

CallerParameters::CallerParameters(const std::string& label, std::int64_t elements, bool copied)
    : elements_(elements), master_(label + "::parameters", copied), model_(label + "::model", false) {}

void CallerParameters::set_model(void* numbers, NumberFormat format, bool copied) {
  model_numbers_ = numbers;
  model_format_ = format;
  model_.set_copies(copied);
}

template <class Use>
auto CallerParameters::in_model_format(const Use& use) const {
  if (model_format_ == NumberFormat::float16) return use(static_cast<Float16*>(model_numbers_));
  return use(static_cast<Bfloat16*>(model_numbers_));
}

Parameters CallerParameters::with_model(const ExecutionSpace& exec, const Vector<float>& master) {
  if (model_numbers_ == nullptr) return master;
  return in_model_format([&](auto* numbers) -> Parameters {
    return {master, model_.out(exec, numbers, elements_)};
  });
}

Parameters CallerParameters::in(const ExecutionSpace& exec, float* parameters) {
  return with_model(exec, master_.in(exec, parameters, elements_));
}

Parameters CallerParameters::out(const ExecutionSpace& exec, float* parameters) {
  return with_model(exec, master_.out(exec, parameters, elements_));
}

void CallerParameters::give_back(const ExecutionSpace& exec, const Parameters& written, float* parameters) {
  master_.give_back(exec, written.master(), parameters);
  if (model_numbers_ == nullptr) return;
  in_model_format(
      [&](auto* numbers) { model_.give_back(exec, model_.out(exec, numbers, elements_), numbers); });
}

Gradient gradient_in(const ExecutionSpace& exec, CallerArray& array, const void* numbers, NumberFormat format,
                     std::int64_t elements) {
  // Read, never written: Views of the copy are not const, and Views of both are of one type.
  auto* own = const_cast<void*>(numbers);
  switch (format) {
    case NumberFormat::bfloat16:
      return array.in(exec, static_cast<Bfloat16*>(own), elements);
    case NumberFormat::float16:
      return array.in(exec, static_cast<Float16*>(own), elements);
    default:
      return array.in(exec, static_cast<float*>(own), elements);
  }
}

}  // namespace kadam::caller
