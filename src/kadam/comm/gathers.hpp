// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <cstddef>
#include <vector>

namespace kadam {

/// What transports that have single messages make of them. Of each transport, messages of its own that nobody
/// else receives: neither takes what belongs to the other.

/// Transport::all_gather() by Bruck's algorithm: who has the bytes of `have` ranks, its own and the next
/// ones', gets as many from the rank that is so far ahead. memory: kept from call to call.
[[nodiscard]] bool gather_by_messages(Messages& messages, int rank, int ranks, std::byte* all,
                                      std::size_t bytes, Seconds patience, std::vector<std::byte>& memory);

/// Transport::missing_ranks(): every rank that waits in vain tells all others so. Errors: what the messages
/// throw for a rank that has ended.
[[nodiscard]] std::vector<int> call_roll(Messages& messages, int rank, int ranks, Seconds patience);

}  // namespace kadam
