// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <report/step_timeline.hpp>
#include <trace/trace_format.hpp>

#include <filesystem>
#include <functional>
#include <string>

namespace kadam::report {

/// An event of a Chrome trace, as far as it is told here.
struct TraceEvent {
  std::string name;
  char kind = ' ';  ///< X: lasts; i: at once; M: says something about a process or a thread
  int process = -1;
  int thread = -1;
  double begin = 0.0;  ///< microseconds
  double length = 0.0;
  std::string labels;  ///< of a process
};

[[nodiscard]] inline bool is_on(const TraceEvent& event, trace::Track track) {
  return event.thread == static_cast<int>(track);
}
[[nodiscard]] inline bool lasts(const TraceEvent& event) {
  return event.kind == 'X' && event.length >= 0.0;
}
/// In seconds.
[[nodiscard]] inline Span span_of(const TraceEvent& event) {
  return {1e-6 * event.begin, 1e-6 * (event.begin + event.length)};
}

/// Whether more events are wanted.
using TakeEvent = std::function<bool(const TraceEvent&)>;

/// Gives all events of the file, one after the other, until one is not taken: what comes behind it is not
/// read. Memory: of one event. Errors: std::runtime_error, without the file's name, if it cannot be read, or
/// is no whole JSON object with traceEvents as far as it is read.
void read_trace_events(const std::filesystem::path& file, const TakeEvent& take);

}  // namespace kadam::report
