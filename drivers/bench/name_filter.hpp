// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <vector>

namespace kadam::bench {

/// --only TEXT, several times: whether a name holds one of the texts. All are wanted when there is none.
[[nodiscard]] bool is_wanted(const std::string& name, const std::vector<std::string>& only);

}  // namespace kadam::bench
