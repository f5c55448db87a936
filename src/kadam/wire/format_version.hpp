// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>

namespace kadam {

/// The version of all byte layouts that messages have, and of the order in which ranks exchange them.
///
/// Messages carry no header. Ranks compare this number when an optimizer is made, so that two builds that
/// would misread each other refuse to work together. It goes up with every change of a layout.
inline constexpr std::uint64_t wire_format_version = 1;

}  // namespace kadam
