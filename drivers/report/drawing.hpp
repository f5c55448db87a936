// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/html.hpp>

#include <string>
#include <vector>

namespace kadam::report {

/// A picture with what explains it.
struct Figure {
  std::string name;         ///< of its place in the page: letters, digits and hyphens
  std::string title;        ///< what over what, with units
  std::string description;  ///< for those who do not see it
  std::string caption;
  std::vector<LegendEntry> legend;
  Table table;           ///< the same in numbers
  std::string commands;  ///< of gnuplot, after the terminal was set
  int height = 330;      ///< at a width of picture_width
  std::string svg;       ///< empty until drawn
};

/// Narrow, so that its letters can be read where it is scaled to the width of a phone.
inline constexpr int picture_width = 480;
inline constexpr int letter_height = 16;

/// Draws all of them with gnuplot. False, and they stay without pictures, where there is none, or no place
/// for its files.
bool draw(std::vector<Figure>& figures);

}  // namespace kadam::report
