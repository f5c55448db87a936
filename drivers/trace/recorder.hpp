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

// Numbers and names in a trace's file, for code that writes and code that reads it: docs/timeline.md.

/// Activities of a rank that run side by side. In the file each is a thread with this number.
enum class Track : std::uint8_t { compute, codec, network, background };
inline constexpr std::size_t track_count = 4;

// Names of events.
inline constexpr const char* step_region = "kadam-train::step";
inline constexpr const char* gradient_region = "kadam-train::gradient";
inline constexpr const char* message_leaves = "send";
inline constexpr const char* message_arrives = "receive";

/// An event with a length, or at a point in time.
struct Event {
  static constexpr double at_once = -1.0;

  double begin = 0.0;    ///< seconds by this rank's clock
  double length = 0.0;   ///< seconds, or at_once: a point in time
  std::size_t name = 0;  ///< index in Recorder::names()
  Track track = Track::compute;
  std::int64_t bytes = 0;  ///< of a message, or sent in an exchange; 0: neither
  int peer = -1;           ///< the other rank of a message; -1: not a message
};

/// Keeps the events of one rank. Several threads may add events at the same time, but not while events(),
/// names() or left_out() are read.
///
/// Memory: 48 B per event. Later events than the first `most_events` are counted in left_out() and not kept.
class Recorder {
 public:
  explicit Recorder(std::size_t most_events = std::size_t{1} << 20U) : most_events_(most_events) {}

  /// Seconds since this rank's clock began.
  [[nodiscard]] double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - zero_).count();
  }
  /// Switches keeping events on or off; at first it is on.
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
