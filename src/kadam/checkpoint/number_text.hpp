// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/state/state_fields.hpp>

#include <optional>
#include <string>

namespace kadam::checkpoint {

/// The value of a number as text that says it to the last bit: true, 12, 1.8p-3 (hexadecimal), none, or a
/// list of these.
[[nodiscard]] std::string to_text(const StateNumber::Place& place);
/// Sets it. False, and nothing is set, if the text is no such value, or a list of another length.
[[nodiscard]] bool from_text(const std::string& text, const StateNumber::Place& place);

/// "1000 0 256 4 2": elements, begin and end of the range, copies, copy.
[[nodiscard]] std::string to_text(const Placement& placement);
/// Nothing if the text is no possible placement.
[[nodiscard]] std::optional<Placement> placement_from(const std::string& text);

}  // namespace kadam::checkpoint
