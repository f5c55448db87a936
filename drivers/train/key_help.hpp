// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace kadam::train {

/// All keys of the configuration with their meaning and default, in lines of at most 100 characters. What all
/// optimizers have in common is listed once.
[[nodiscard]] std::string key_help();

}  // namespace kadam::train
