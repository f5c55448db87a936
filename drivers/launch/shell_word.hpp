// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace kadam::launch {

/// A text as one word for a shell, whatever is in it: as it is, or between apostrophes where need be.
/// it's -> 'it'\''s'
[[nodiscard]] std::string shell_word(const std::string& text);

}  // namespace kadam::launch
