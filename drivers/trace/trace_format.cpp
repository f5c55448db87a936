// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <trace/trace_format.hpp>

#include <fmt/format.h>

#include <cstdio>

namespace kadam::trace {

std::string clock_label(double error_seconds) {
  return fmt::format("clock +- {:.0f} us", 1e6 * error_seconds);
}

double clock_error_in(const std::string& label) {
  double error = 0.0;
  return std::sscanf(label.c_str(), "clock +- %lf us", &error) == 1 ? 1e-6 * error : 0.0;
}

}  // namespace kadam::trace
