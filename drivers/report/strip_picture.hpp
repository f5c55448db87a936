// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/step_timeline.hpp>

#include <string>

namespace kadam::report {

inline constexpr const char* exchange_colour = "#c5e5dc";
inline constexpr const char* message_colour = "#228866";

/// Milliseconds, unless there are very many of them.
struct StripUnit {
  const char* name;
  const char* symbol;
  double size;
};
[[nodiscard]] StripUnit strip_unit_of(double seconds);

/// A strip of rows per rank, one below the other.
struct StripPicture {
  int height = 0;
  std::string commands;  ///< of gnuplot
};
[[nodiscard]] StripPicture strip_picture_of(const StepTimeline& timeline);

}  // namespace kadam::report
