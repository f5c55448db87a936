// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kadam::bench {

/// 10^3 to 10^8 elements and 2.5 10^7, as far as they take no more than half of the memory when all ranks are
/// on one machine; up to 10^7 where nothing is known of the memory. The smallest one always.
/// Worked number: 4 ranks of 32 bytes per element in 16 GB: up to 2.5 10^7.
[[nodiscard]] std::vector<std::int64_t> default_sizes(std::optional<std::size_t> available_bytes, int ranks);

/// What programs may still take; nothing where the system does not tell.
[[nodiscard]] std::optional<std::size_t> available_memory_bytes();

/// default_sizes() of the rank with the least memory. Collective.
[[nodiscard]] std::vector<std::int64_t> default_sizes(Communicator& communicator);

}  // namespace kadam::bench
