// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <vector>

namespace kadam {

/// The cores of a node and the threads that compute on them, seen from one rank.
struct CoreUse {
  std::vector<int> own_cores;  ///< the cores that this rank may run on
  int node_cores = 1;          ///< of the whole node
  int threads = 1;             ///< that this rank computes with
  int node_ranks = 1;          ///< ranks on the node
  int node_rank = 0;           ///< this rank among them, from 0
};

/// Returns a core that no rank computes on, for a thread that waits for messages; nullopt if there is none.
///
/// A rank whose cores are not shared has a spare core if it has more cores than threads. Ranks that share all
/// cores of the node have one each if there are as many cores as threads and ranks together. Spare cores are
/// taken from the end of own_cores, because threads are placed from the start. Worked number: 2 ranks of 3
/// threads that share 8 cores, 0 to 7: core 7 for rank 0, 6 for rank 1.
[[nodiscard]] std::optional<int> spare_core(const CoreUse& use);

/// Returns the cores that the calling thread may run on; empty where the system does not say.
[[nodiscard]] std::vector<int> cores_of_this_thread();
/// Binds the calling thread to a core. Does nothing where the system has no such call.
void bind_this_thread(int core);

}  // namespace kadam
