// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <launch/rounded_gradient.hpp>

namespace kadam::launch {

RoundedGradient::RoundedGradient(const ExecutionSpace& exec, NumberFormat format, std::int64_t elements)
    : format_(format) {
  const char* const label = "kadam::launch::RoundedGradient";
  if (format == NumberFormat::bfloat16) bfloat16_ = allocate<Bfloat16>(exec, label, elements);
  if (format == NumberFormat::float16) float16_ = allocate<Float16>(exec, label, elements);
}

Gradient RoundedGradient::operator()(const ExecutionSpace& exec, const Vector<const float>& gradient) const {
  if (format_ == NumberFormat::float32) return gradient;
  const bool is_bfloat16 = format_ == NumberFormat::bfloat16;
  write_copy<ExecutionSpace, MemorySpace>(
      exec, gradient, is_bfloat16 ? HalfCopy<MemorySpace>(bfloat16_) : HalfCopy<MemorySpace>(float16_));
  return is_bfloat16 ? Gradient(bfloat16_) : Gradient(float16_);
}

}  // namespace kadam::launch
