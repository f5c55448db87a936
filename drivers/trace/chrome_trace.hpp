// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <trace/clocks.hpp>
#include <trace/recorder.hpp>

#include <string>

namespace kadam::trace {

/// Which part of a file a rank writes.
struct Part {
  int rank = 0;
  int ranks = 1;
  double clock_error = 0.0;  ///< seconds that this rank's times may be wrong by
};

/// The events of a rank in the JSON object format of Chrome traces, times in microseconds: the parts of all
/// ranks one after the other are the file.
[[nodiscard]] std::string chrome_trace(const Recorder& recorder, const CommonClock& clock, const Part& part);

}  // namespace kadam::trace
