// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>
#include <kadam/kernels/active_mask.hpp>
#include <kadam/kernels/freeze.hpp>
#include <kadam/kernels/words.hpp>
#include <kadam/wire/block_message.hpp>

namespace kadam::bench {
namespace {

constexpr std::int64_t raise_block = 2048;

struct HasVariance {
  Vector<const float> v;
  KOKKOS_FORCEINLINE_FUNCTION bool operator()(const std::int64_t i) const { return v(i) > 0.0F; }
};

KernelCase fold(const Vectors& vectors) {
  const float factor = 0.9999999F;  // no less and no more work in the last run than in the first
  return {"fold_corrections", 16.0, vectors.elements, Limit::update, [&vectors, factor](const auto& exec) {
            fold_corrections<ExecutionSpace, MemorySpace>(exec, factor, factor, vectors.m, vectors.v);
          }};
}

/// With no variance small enough to be raised: v is read alone.
KernelCase raise(const Vectors& vectors) {
  const BlockMessage message(ChunkLayout(vectors.elements, 1), raise_block, 1, true);
  return {
      "raise_variance", 4.0, vectors.elements, Limit::read, [&vectors, message](const auto& exec) {
        raise_variance<ExecutionSpace, MemorySpace>(exec, message.map(), {0.1, 1e-8}, vectors.m, vectors.v);
      }};
}

KernelCase count(const Vectors& vectors) {
  return {"count_zeros", 4.0, vectors.elements, Limit::read,
          [&vectors](const auto& exec) { (void)count_zeros<ExecutionSpace, MemorySpace>(exec, vectors.v); }};
}

KernelCase mask_of_variance(const Vectors& vectors) {
  const Words<MemorySpace> mask(
      "kadam-bench::mask", static_cast<std::size_t>(ActiveMask<MemorySpace>::words_for(vectors.elements)));
  return {"active mask of the variance", 4.125, vectors.elements, Limit::read,
          [&vectors, mask](const auto& exec) {
            fill_active_mask(exec, mask, vectors.elements, HasVariance{vectors.v});
          }};
}

}  // namespace

std::vector<KernelCase> freeze_cases(const Vectors& vectors) {
  return {fold(vectors), raise(vectors), count(vectors), mask_of_variance(vectors)};
}

}  // namespace kadam::bench
