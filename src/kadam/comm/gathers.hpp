// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <cstddef>
#include <vector>

namespace kadam {

/// Collective calls of a Transport, made of its Messages, for transports that have nothing else for them. The
/// Messages have to be separate ones, which carry nothing else: a receive of an exchange must not take
/// messages of these calls, nor the other way round.

/// Transport::all_gather() by Bruck's algorithm: in each round a rank that has the bytes of `have` ranks, its
/// own and those of the next ranks, receives as many from rank (rank + have) mod ranks. memory: room for the
/// bytes of all ranks, kept by the caller from call to call.
[[nodiscard]] bool gather_by_messages(Messages& messages, int rank, int ranks, std::byte* all,
                                      std::size_t bytes, Seconds patience, std::vector<std::byte>& memory);

/// Transport::missing_ranks(): each rank whose wait has ended in vain sends a byte to all others. Returns the
/// ranks from which none arrives within `patience`. Errors: those of `messages` for a rank that has ended.
[[nodiscard]] std::vector<int> call_roll(Messages& messages, int rank, int ranks, Seconds patience);

}  // namespace kadam
