// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace kadam {

/// What bytes are sent for; `node`: all that stays inside a node because exchanges have two levels.
enum class Traffic : std::uint8_t { control, dense, compressed, sparse, background, node };
inline constexpr std::size_t traffic_classes = 6;

}  // namespace kadam
