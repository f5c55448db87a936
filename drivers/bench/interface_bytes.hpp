// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>

namespace kadam::bench {

/// Bytes that the network interfaces of this machine, or of this network namespace, have sent, headers and
/// what was sent twice included; the loopback does not count. Nothing where the system does not tell.
[[nodiscard]] std::optional<std::size_t> interface_bytes();

/// The same of a table that is laid out as Linux' /proc/net/dev.
[[nodiscard]] std::size_t sum_of_sent_bytes(std::istream& table);

}  // namespace kadam::bench
