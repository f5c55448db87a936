// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/transport.hpp>

#include <algorithm>
#include <chrono>
#include <thread>

namespace kadam {

/// How to wait for ranks that may still compute: at first by asking all the time, then with naps between, the
/// longer the longer it takes.
///
/// MPI's own waiting keeps a core busy, sched_yield() or not: where ranks, a solver's threads or background
/// exchanges share cores, those who still compute pay for those who wait. Not for a stream of messages: MPI
/// moves it only while it is called, and naps cost a tenth of a dense mean's rate (docs/design.md). A
/// nap prolongs a wait by a quarter of it, but the shortest nap at least and the longest at most.
class Patience {
 public:
  using Duration = std::chrono::microseconds;

  Patience(Duration asking, Duration shortest_nap, Duration longest_nap)
      : asking_(asking), shortest_(shortest_nap), longest_(longest_nap) {}

  /// What was asked for is not there yet.
  void operator()() const {
    const auto waited = std::chrono::duration_cast<Duration>(Clock::now() - since_);
    if (waited >= asking_) std::this_thread::sleep_for(std::clamp(waited / 4, shortest_, longest_));
  }
  /// Something has come: from the beginning.
  void reset() { since_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;

  Duration asking_;
  Duration shortest_;
  Duration longest_;
  Clock::time_point since_ = Clock::now();
};

/// When who waits gives up.
class Deadline {
 public:
  explicit Deadline(Seconds patience) : patience_(patience) {}

  [[nodiscard]] bool has_passed() const { return waited() >= patience_; }
  [[nodiscard]] Seconds left() const { return std::max(patience_ - waited(), Seconds(0.0)); }
  /// Something has come.
  void reset() { since_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Seconds waited() const { return Clock::now() - since_; }

  Seconds patience_;
  Clock::time_point since_ = Clock::now();
};

/// Of a program that can do nothing else meanwhile: an answer within a fast network comes while it still
/// asks.
inline Patience patience_of_program() {
  using std::chrono::microseconds;
  return {microseconds(100), microseconds(20), microseconds(200)};
}

/// Of a thread beside a program that computes: to ask costs tens of microseconds.
inline Patience patience_of_background() {
  using std::chrono::microseconds;
  return {microseconds(0), microseconds(200), microseconds(1000)};
}

}  // namespace kadam
