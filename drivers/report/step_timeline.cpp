// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/step_timeline.hpp>

#include <algorithm>

namespace kadam::report {

Spans joined(Spans spans, double gap) {
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  Spans all;
  for (const Span& span : spans) {
    if (!all.empty() && span.begin <= all.back().end + gap) {
      all.back().end = std::max(all.back().end, span.end);
    } else {
      all.push_back(span);
    }
  }
  return all;
}

double length_of(const Spans& spans) {
  double length = 0.0;
  for (const Span& span : spans) length += span.end - span.begin;
  return length;
}

double common_length(const Spans& one, const Spans& other) {
  double length = 0.0;
  auto a = one.begin();
  auto b = other.begin();
  while (a != one.end() && b != other.end()) {
    length += std::max(0.0, std::min(a->end, b->end) - std::max(a->begin, b->begin));
    (a->end < b->end ? a : b)++;
  }
  return length;
}

}  // namespace kadam::report
