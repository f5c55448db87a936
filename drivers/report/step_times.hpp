// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/run.hpp>

#include <array>

namespace kadam::report {

/// Where time of a step goes.
struct Part {
  const char* name;
  const char* colour;  ///< light, for dark numbers on it; of Tol's light scheme
};

/// In the order in which they happen.
inline constexpr std::array<Part, 6> step_parts = {{{"compute", "#bbcc33"},
                                                    {"wait", "#dddddd"},
                                                    {"encode", "#99ddff"},
                                                    {"exposed exchange", "#ee8866"},
                                                    {"decode", "#77aadd"},
                                                    {"rest", "#eedd88"}}};

/// Seconds of each part, of one run.
struct Bar {
  std::string label;
  std::array<double, step_parts.size()> seconds{};
  bool knows_wait =
      false;  ///< apart from the exchange, and the rest: not of runs that an earlier Kadam has written

  [[nodiscard]] double total() const {
    double sum = 0.0;
    for (const double part : seconds) sum += part;
    return sum;
  }
};

/// Of a finished run its result, of others the last tenth of their lines. Nothing without such figures.
[[nodiscard]] std::optional<Bar> bar_of(const Run& run);

}  // namespace kadam::report
