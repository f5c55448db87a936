// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kadam::report {

/// Text as it stands in HTML, in attributes too.
[[nodiscard]] std::string escaped(std::string_view text);
/// The same between tags; long names may break after an underscore.
[[nodiscard]] std::string breakable(std::string_view text);

/// What a figure shows, in words and numbers. The first cell of a row is its heading.
struct Table {
  std::string name;  ///< for those who do not see what is above it
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
};

[[nodiscard]] std::string html_of(const Table& table);

/// A colour with its name.
struct LegendEntry {
  std::string text;
  std::string colour;
  std::string dashes;  ///< of SVG; empty: a whole line
  bool is_area = false;
};

[[nodiscard]] std::string html_of(const std::vector<LegendEntry>& legend);

/// A number with so many significant digits; a dash for what is none.
[[nodiscard]] std::string number_text(double value, int digits = 4);

}  // namespace kadam::report
