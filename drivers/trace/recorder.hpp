// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

/// Timelines of runs: what each rank computed, encoded and sent, and when.
namespace kadam::trace {

// What a trace's file says in words and numbers, for those who write it and those who read it:
// docs/timeline.md.

/// What works beside each other on a rank: its threads in the file, by these numbers.
enum class Track : std::uint8_t { compute, codec, network, background };
inline constexpr std::size_t track_count = 4;

// Names of events.
inline constexpr const char* step_region = "kadam-train::step";
inline constexpr const char* gradient_region = "kadam-train::gradient";
inline constexpr const char* message_leaves = "send";
inline constexpr const char* message_arrives = "receive";

/// Something that took a while, or happened at once.
struct Event {
  static constexpr double at_once = -1.0;

  double begin = 0.0;    ///< seconds by this rank's clock
  double length = 0.0;   ///< seconds; at_once
  std::size_t name = 0;  ///< of Recorder::names()
  Track track = Track::compute;
  std::int64_t bytes = 0;  ///< of a message; 0: it is none
  int peer = -1;           ///< the other rank of a message
};

/// The events of one rank. May be told by several threads at the same time.
///
/// Memory: 48 B per event, up to `most_events` of them: what comes later is counted and left out.
class Recorder {
 public:
  explicit Recorder(std::size_t most_events = std::size_t{1} << 20U) : most_events_(most_events) {}

  /// Seconds since this rank's clock began.
  [[nodiscard]] double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - zero_).count();
  }
  /// Whether events are kept; from the beginning on they are.
  void keep(bool wanted) { keeps_ = wanted; }

  void add(Track track, std::string_view name, double begin, double end);
  void add_message(Track track, std::string_view name, double begin, double length, int peer,
                   std::size_t bytes);

  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  void add(Event event, std::string_view name);

  std::chrono::steady_clock::time_point zero_ = std::chrono::steady_clock::now();
  std::size_t most_events_;
  std::atomic<bool> keeps_ = true;
  std::mutex mutex_;
  std::vector<Event> events_;
  std::vector<std::string> names_;
  std::map<std::string, std::size_t, std::less<>> number_of_;
  std::size_t left_out_ = 0;
};

}  // namespace kadam::trace
