// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/state/state_fields.hpp>

#include <optional>
#include <string>

namespace kadam::checkpoint {

/// The value of a number as text, exact to the last bit: true, 12, 1.8p-3 (hexadecimal), none, or a list of
/// these.
[[nodiscard]] std::string to_text(const StateNumber::Place& place);
/// Sets the number to the value in such a text. Returns false, and sets nothing, if the text is no such
/// value, or is a list of another length.
[[nodiscard]] bool from_text(const std::string& text, const StateNumber::Place& place);

/// A placement as text: "1000 0 256 4 2" for elements, begin and end of the range, copies, copy.
[[nodiscard]] std::string to_text(const Placement& placement);
/// The placement in such a text; nothing if the text is no possible placement.
[[nodiscard]] std::optional<Placement> placement_from(const std::string& text);

}  // namespace kadam::checkpoint
