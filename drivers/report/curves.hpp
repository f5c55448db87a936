// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/axis.hpp>
#include <report/drawing.hpp>
#include <report/run.hpp>

#include <optional>

namespace kadam::report {

/// A horizontal line to compare curves with.
struct Level {
  double value = 0.0;
  std::string text;
};

/// What to draw of every run, over what.
struct CurveKind {
  std::string name;
  std::string title;
  std::string caption;
  std::string field;            ///< y: of the lines
  std::string over = "step";    ///< x: "step" or a field
  TextOfNumber text = nullptr;  ///< of y
  bool is_logarithmic = false;  ///< else where it helps
  std::vector<Line> Run::*lines = &Run::training;
};

/// One curve per run that has such numbers. Nothing if none has.
[[nodiscard]] std::optional<Figure> figure_of(const CurveKind& kind, const std::vector<Run>& runs,
                                              const std::vector<LegendEntry>& styles,
                                              const std::vector<Level>& levels = {});

/// "1500", "20k", "3M"
[[nodiscard]] std::string step_text(double steps);
[[nodiscard]] std::string plain_text(double value);

}  // namespace kadam::report
