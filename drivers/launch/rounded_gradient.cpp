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
  round(exec, gradient, {0, static_cast<std::int64_t>(gradient.extent(0))});
  return view(gradient);
}

Gradient RoundedGradient::view(const Vector<const float>& gradient) const {
  if (format_ == NumberFormat::float32) return gradient;
  return format_ == NumberFormat::bfloat16 ? Gradient(bfloat16_) : Gradient(float16_);
}

void RoundedGradient::round(const ExecutionSpace& exec, const Vector<const float>& gradient,
                            const ElementRange& range) const {
  if (format_ == NumberFormat::float32) return;
  const auto elements = Kokkos::make_pair(range.begin, range.end);
  const Vector<const float> part = Kokkos::subview(gradient, elements);
  const bool is_bfloat16 = format_ == NumberFormat::bfloat16;
  write_copy<ExecutionSpace, MemorySpace>(exec, part,
                                          is_bfloat16
                                              ? HalfCopy<MemorySpace>(Kokkos::subview(bfloat16_, elements))
                                              : HalfCopy<MemorySpace>(Kokkos::subview(float16_, elements)));
}

}  // namespace kadam::launch
