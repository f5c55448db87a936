// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/spare_core.hpp>

#include <cstddef>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

namespace kadam {

std::optional<int> spare_core(const CoreUse& use) {
  const auto cores = static_cast<int>(use.own_cores.size());
  const bool shares = cores == use.node_cores && use.node_ranks > 1;
  const int needed = shares ? use.node_ranks * (use.threads + 1) : use.threads + 1;
  if (cores < needed) return std::nullopt;
  const int from_end = shares ? use.node_rank : 0;
  return use.own_cores[static_cast<std::size_t>(cores - 1 - from_end)];
}

#if defined(__linux__)

std::vector<int> cores_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (pthread_getaffinity_np(pthread_self(), sizeof(set), &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

void bind_this_thread(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<std::size_t>(core), &set);
  (void)pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

#else

std::vector<int> cores_of_this_thread() {
  return {};
}
void bind_this_thread(int /*core*/) {}

#endif

}  // namespace kadam
