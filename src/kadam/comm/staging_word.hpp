// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>

#include <optional>
#include <string_view>

namespace kadam {

/// What people say of whether MPI takes device memory: "auto", "on" (never stage) or "off" (always). Nothing
/// for another word.
[[nodiscard]] inline std::optional<Staging> staging_from(std::string_view gpu_aware) {
  if (gpu_aware == "auto") return Staging::automatic;
  if (gpu_aware == "on") return Staging::never;
  if (gpu_aware == "off") return Staging::always;
  return std::nullopt;
}

}  // namespace kadam
