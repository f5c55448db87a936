// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace kadam {

/// Waits for ranks that may still compute: the caller asks again and again whether they have come, and calls
/// operator() after each time in vain. At first it returns at once; later it naps, the longer the longer the
/// wait has lasted.
///
/// MPI's own waiting keeps a core busy, with sched_yield() or without: where ranks, a solver's threads or
/// background exchanges share cores, ranks that still compute lose time to ranks that wait. Not for a stream
/// of messages: MPI moves messages only while it is called, and naps cost a tenth of a dense mean's rate
/// (docs/design.md). A nap lasts a quarter of the wait so far, but at least shortest_nap and at most
/// longest_nap.
class Patience {
 public:
  using Duration = std::chrono::microseconds;

  /// asking: how long a wait lasts before its first nap.
  Patience(Duration asking, Duration shortest_nap, Duration longest_nap)
      : asking_(asking), shortest_(shortest_nap), longest_(longest_nap) {}

  /// Naps, if the wait has lasted for `asking` or longer; else returns at once.
  void operator()() const {
    const auto waited = std::chrono::duration_cast<Duration>(Clock::now() - since_);
    if (waited >= asking_) std::this_thread::sleep_for(std::clamp(waited / 4, shortest_, longest_));
  }
  /// Begins a new wait: something has come.
  void reset() { since_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;

  Duration asking_;
  Duration shortest_;
  Duration longest_;
  Clock::time_point since_ = Clock::now();
};

/// The moment at which a wait gives up: `patience` after it has begun.
class Deadline {
 public:
  explicit Deadline(Seconds patience) : patience_(patience) {}

  [[nodiscard]] bool has_passed() const { return waited() >= patience_; }
  [[nodiscard]] Seconds left() const { return std::max(patience_ - waited(), Seconds(0.0)); }
  /// Begins a new wait: something has come.
  void reset() { since_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Seconds waited() const { return Clock::now() - since_; }

  Seconds patience_;
  Clock::time_point since_ = Clock::now();
};

/// For the main thread, which can do nothing else while it waits: an answer over a fast network arrives
/// before it naps.
inline Patience patience_of_program() {
  using std::chrono::microseconds;
  return {microseconds(100), microseconds(20), microseconds(200)};
}

/// For a thread beside a program that computes. It naps from the beginning, because each question takes tens
/// of microseconds of a core.
inline Patience patience_of_background() {
  using std::chrono::microseconds;
  return {microseconds(0), microseconds(200), microseconds(1000)};
}

}  // namespace kadam
