// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>

namespace kadam::doctor {

/// Says what each optimizer is, one line each: its name, and its traits in words.
[[nodiscard]] std::string optimizers_as_text();

/// Lists all optimizers as a JSON array: of each its name, its traits, and its options with default and text.
[[nodiscard]] std::string optimizers_as_json();

}  // namespace kadam::doctor
