// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/boxes.hpp>

#include <fmt/format.h>

namespace kadam::report {

void Boxes::add(double left, double right, double y, double half, const char* colour) {
  data_ += fmt::format("{:.7g} {:.7g} {:.7g} {:.7g} {:.7g} {:.7g} {}\n", 0.5 * (left + right), y, left, right,
                       y - half, y + half, std::stol(std::string(colour).substr(1), nullptr, 16));
}

std::string Boxes::commands(const Axis& axis, const Frame& frame, const std::string& labels) const {
  return fmt::format(
      "$boxes << EOD\n{}EOD\n{}{}set lmargin at screen {}\nset rmargin at screen {}\nset tmargin at screen "
      "1\n"
      "set bmargin at screen {:.6g}\nset border 1 lc rgb '#555555'\nunset ytics\nset xtics nomirror scale "
      "0.5 offset 0,0.2\nset yrange [{:.6g}:{:.6g}]\nset xlabel '{}' offset 0,0.5\nunset key\n"
      "set style fill solid 1 noborder\n"
      "plot $boxes using 1:2:3:4:5:6:7 with boxxyerror lc rgb variable\n",
      data_, labels, gnuplot_commands(axis, "x"), frame.left, frame.right, frame.bottom, frame.lowest,
      frame.highest, frame.title);
}

}  // namespace kadam::report
