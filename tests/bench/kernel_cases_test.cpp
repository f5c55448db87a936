// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <bench/kernel_cases.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace kadam::bench {
namespace {

/// Elements that are not 0 and not a normal number.
std::int64_t strange(const Vector<float>& values) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  std::int64_t count = 0;
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    if (host(i) != 0.0F && !std::isnormal(host(i))) ++count;
  }
  return count;
}

/// Kernels are measured in turn. If one reads as floats what another wrote as codes, it computes with NaNs
/// and with subnormal numbers, and some processors take far longer for these than for others.
TEST(KernelCasesTest, ComputeWithNormalNumbersWhenTheyRunInTurn) {
  const ExecutionSpace exec;
  const Vectors vectors(1 << 15);
  for (const auto& cases : {lamb_cases(vectors), codec_cases(vectors)}) {
    for (int round = 0; round < 5; ++round) {
      for (const KernelCase& one : cases) {
        if (one.prepare) one.prepare(exec);
        one.run(exec);
        exec.fence("KernelCasesTest");
        // A rounding error of a float that is nearly a multiple of its unit may be tiny, but it is rare.
        EXPECT_EQ(strange(vectors.x), 0) << one.kernel << ", round " << round;
        EXPECT_LE(strange(vectors.error), 3) << one.kernel << ", round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace kadam::bench
