// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kadam::report {

/// What a rank does in a span of a timeline; the first five are parts of a step, and have their colours.
enum class Activity : std::uint8_t {
  compute,
  wait,
  encode,
  exposed_exchange,
  decode,
  network,             ///< an exchange in the foreground
  network_message,     ///< that has arrived, since the one before
  background,          ///< an exchange in the background
  background_message,  ///< as above
};
inline constexpr std::size_t activity_count = 9;

[[nodiscard]] constexpr bool is_message(Activity activity) {
  return activity == Activity::network_message || activity == Activity::background_message;
}

/// From when to when, in seconds.
struct Span {
  double begin = 0.0;
  double end = 0.0;
};

using Spans = std::vector<Span>;

/// The same without gaps up to that length.
[[nodiscard]] Spans joined(Spans spans, double gap = 0.0);
/// Seconds of all together, and of those that both have. Of joined spans.
[[nodiscard]] double length_of(const Spans& spans);
[[nodiscard]] double common_length(const Spans& one, const Spans& other);

/// What one rank does meanwhile.
struct RankTimeline {
  double clock_error = 0.0;  ///< seconds that its times may be wrong by
  std::array<Spans, activity_count> spans;

  [[nodiscard]] Spans& of(Activity activity) { return spans.at(static_cast<std::size_t>(activity)); }
  [[nodiscard]] const Spans& of(Activity activity) const {
    return spans.at(static_cast<std::size_t>(activity));
  }
};

/// A step of rank 0, or two in a row, seen from the first ranks: times since the begin of the first, by the
/// clock of rank 0.
struct StepTimeline {
  Span first_step;
  double end = 0.0;  ///< of the last step
  std::size_t steps = 1;
  std::vector<RankTimeline> ranks;
};

}  // namespace kadam::report
