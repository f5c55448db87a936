// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/execution.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace kadam::detail {

#if defined(__linux__) && defined(MADV_HUGEPAGE)

void prefer_huge_pages(void* begin, std::size_t bytes) {
  constexpr std::size_t two_huge_pages = std::size_t{4} << 20U;
  if (bytes < two_huge_pages) return;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = (reinterpret_cast<std::uintptr_t>(begin) + page - 1) / page * page;
  const auto last = (reinterpret_cast<std::uintptr_t>(begin) + bytes) / page * page;
  // Whole pages of the vector only. A system without huge pages refuses, which is no error.
  (void)madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
}

#else

void prefer_huge_pages(void* /*begin*/, std::size_t /*bytes*/) {}

#endif

}  // namespace kadam::detail
