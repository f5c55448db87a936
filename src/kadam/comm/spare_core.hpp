// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <vector>

namespace kadam {

/// Who computes on the cores of a node.
struct CoreUse {
  std::vector<int> own_cores;  ///< that this rank may run on
  int node_cores = 1;          ///< of the whole node
  int threads = 1;             ///< that this rank computes with
  int node_ranks = 1;          ///< on the node
  int node_rank = 0;           ///< this one among them
};

/// A core that no rank computes on, for a thread that waits for messages; nothing if there is none.
///
/// Ranks that are bound to cores of their own have one if they were given more cores than they have threads.
/// Ranks that share all cores have one each if the node has as many cores as threads and ranks together. The
/// cores are taken from the end: threads are placed from the start. Worked number: 2 ranks of 3 threads that
/// share 8 cores, 0 to 7: core 7 for rank 0, 6 for rank 1.
[[nodiscard]] std::optional<int> spare_core(const CoreUse& use);

/// The cores that the calling thread may run on; empty where the system does not say.
[[nodiscard]] std::vector<int> cores_of_this_thread();
/// Keeps the calling thread on a core. Does nothing where the system has no such call.
void bind_this_thread(int core);

}  // namespace kadam
