// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/vectors.hpp>
#include <kadam/kernels/half_copy.hpp>

namespace kadam::bench {
namespace {

/// A cheap hash with well-mixed bits (Wellons' lowbias32).
KOKKOS_INLINE_FUNCTION std::uint32_t mixed(std::uint32_t value) {
  value ^= value >> 16U;
  value *= 0x7feb352dU;
  value ^= value >> 15U;
  value *= 0x846ca68bU;
  return value ^ (value >> 16U);
}

}  // namespace

void fill(const ExecutionSpace& exec, const Vector<float>& values, float size, std::uint32_t seed) {
  using Policy = Kokkos::RangePolicy<ExecutionSpace, Kokkos::IndexType<std::int64_t>>;
  Kokkos::parallel_for(
      "kadam-bench::fill", Policy(exec, 0, static_cast<std::int64_t>(values.extent(0))),
      KOKKOS_LAMBDA(const std::int64_t i) {
        const std::uint32_t bits = mixed(static_cast<std::uint32_t>(i) ^ seed);
        const float unit = static_cast<float>(bits >> 8U) * 0x1p-23F - 1.0F;  // -1 to 1
        values(i) = size * unit * unit * unit;
      });
}

Vectors::Vectors(std::int64_t size) : elements(size) {
  const ExecutionSpace exec;
  x = allocate<float>(exec, "kadam-bench::x", size);
  m = allocate<float>(exec, "kadam-bench::m", size);
  v = allocate<float>(exec, "kadam-bench::v", size);
  gradient = allocate<float>(exec, "kadam-bench::gradient", size);
  bfloat16_gradient = allocate<Bfloat16>(exec, "kadam-bench::bfloat16_gradient", size);
  float16_gradient = allocate<Float16>(exec, "kadam-bench::float16_gradient", size);
  model = allocate<Bfloat16>(exec, "kadam-bench::model", size);
  error = allocate<float>(exec, "kadam-bench::error", size);
  words = allocate_zeros<std::uint32_t>(exec, "kadam-bench::words", size);
  fill(exec, x, 1.0F, 1);
  fill(exec, m, 1e-3F, 2);
  fill(exec, gradient, 1e-2F, 3);
  write_copy<ExecutionSpace, MemorySpace>(exec, gradient, HalfCopy<MemorySpace>(bfloat16_gradient));
  write_copy<ExecutionSpace, MemorySpace>(exec, gradient, HalfCopy<MemorySpace>(float16_gradient));
  write_copy<ExecutionSpace, MemorySpace>(exec, x, HalfCopy<MemorySpace>(model));
  fill(exec, error, 1e-3F, 4);
  Kokkos::deep_copy(exec, v, 1e-6F);
  exec.fence("kadam-bench: vectors");
}

}  // namespace kadam::bench
