// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/axis.hpp>

#include <string>

namespace kadam::report {

/// Coloured boxes in rows, over an axis below them.
class Boxes {
 public:
  /// From left to right on the axis, so far above and below y. colour: "#rrggbb".
  void add(double left, double right, double y, double half, const char* colour);

  /// Where rows lie: parts of the picture's width and height; y from lowest to highest.
  struct Frame {
    double left = 0.0;
    double right = 1.0;
    double bottom = 0.0;
    double lowest = 0.0;
    double highest = 0.0;
    std::string title;  ///< of the axis
  };
  /// Of gnuplot. labels: commands of their own.
  [[nodiscard]] std::string commands(const Axis& axis, const Frame& frame, const std::string& labels) const;

 private:
  std::string data_;  ///< x, y, left, right, lower, upper, colour
};

}  // namespace kadam::report
