// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/execution.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace kadam {
namespace {

/// The flags that the kernel has of the memory at `address`, as /proc/self/smaps names them; "" if it does
/// not say.
std::string flags_of_memory(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  bool is_inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long first = 0;
    unsigned long last = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &first, &last) == 2) {  // NOLINT(cert-err34-c)
      is_inside = first <= wanted && wanted < last;
    } else if (is_inside && line.rfind("VmFlags:", 0) == 0) {
      return line + ' ';
    }
  }
  return {};
}

TEST(Execution, LongVectorsAskForHugePages) {
  if constexpr (!kernels_run_on_host) GTEST_SKIP() << "vectors are on a device";
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"))
    GTEST_SKIP() << "this system has no transparent huge pages";
  const ExecutionSpace exec;
  const std::int64_t elements = std::int64_t{1} << 22;
  const auto vector = allocate<float>(exec, "long", elements);
  const auto zeros = allocate_zeros<float>(exec, "zeros", elements);
  for (const Vector<float>& one : {vector, zeros}) {
    const std::string flags = flags_of_memory(one.data() + elements / 2);
    if (flags.empty()) GTEST_SKIP() << "/proc/self/smaps has no flags";
    EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
  }
}

TEST(Execution, ZerosAreZero) {
  const ExecutionSpace exec;
  for (const std::int64_t elements : {0, 1, 1000, 3 << 20}) {
    const auto zeros = allocate_zeros<float>(exec, "zeros", elements);
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), zeros);
    ASSERT_EQ(host.extent(0), static_cast<std::size_t>(elements));
    for (std::size_t i = 0; i < host.extent(0); ++i) ASSERT_EQ(host(i), 0.0F) << i;
  }
}

}  // namespace
}  // namespace kadam
