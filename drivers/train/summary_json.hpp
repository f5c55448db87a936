// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <train/trainer.hpp>

namespace kadam::train {

/// What comparison.json and run.json say of a finished run.
[[nodiscard]] nlohmann::ordered_json to_json(const RunSummary& run);

}  // namespace kadam::train
