// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <vector>

namespace kadam::launch {

/// Seconds of one run: the middle one, and how far apart the quarters around it are.
struct Timing {
  double median = 0.0;
  double spread = 0.0;  ///< (third quartile - first) / median

  static Timing of(std::vector<double> seconds);
};

}  // namespace kadam::launch
