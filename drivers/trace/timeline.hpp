// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <trace/listeners.hpp>
#include <trace/recorder.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <memory>

namespace kadam::trace {

/// How far this rank's clock is behind that of rank 0, with a bound on the error.
struct ClockOffset {
  double seconds = 0.0;
  double error = 0.0;  ///< largest error of `seconds`, in either direction
  double at = 0.0;     ///< time of the measurement by this rank's clock
};

/// Times before and after exchanges that no rank leaves before all have come: rank 0 came before this rank
/// left, and this rank came before rank 0 left. Shape: all [rounds].
struct Meetings {
  std::vector<double> own_before, own_after;    ///< by this rank's clock
  std::vector<double> root_before, root_after;  ///< by that of rank 0
};

/// The offset in the middle of its bounds, which all rounds give:
///
///   max(root_before - own_after) <= offset <= min(root_after - own_before)
///
/// Worked number: own 1.0 to 1.4, root 5.1 to 5.3: the offset is
/// between 3.7 and 4.3, 4.0 +- 0.3.
[[nodiscard]] ClockOffset offset_from(const Meetings& meetings);

/// Measures the offset in a few dozen small exchanges. clock() returns seconds by this rank's clock.
/// Collective.
[[nodiscard]] ClockOffset measure_offset(Communicator& communicator, const std::function<double()>& clock);

/// Turns times of this rank's clock into times of rank 0's clock. It interpolates between two measured
/// offsets, because clocks of computers drift by some microseconds a second.
class CommonClock {
 public:
  CommonClock(const ClockOffset& first, const ClockOffset& last) : first_(first), last_(last) {}
  [[nodiscard]] double operator()(double own) const;

 private:
  ClockOffset first_;
  ClockOffset last_;
};

/// Which steps are recorded, both ends included.
struct StepRange {
  std::int64_t first = 1;
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

/// Records events on all ranks from its construction on, and writes them as a Chrome trace, which
/// chrome://tracing, Perfetto and Speedscope open: one process per rank, one thread per Track, times by the
/// clock of rank 0.
class Timeline {
 public:
  /// Observes the exchanges of `communicator` until its destruction. steps: the steps that are recorded if
  /// at_step() is called. Collective. Errors: as KokkosEvents.
  explicit Timeline(std::shared_ptr<Communicator> communicator, const StepRange& steps = {});
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Call before each step if not all steps are recorded.
  void at_step(std::int64_t step) { recorder_->keep(steps_.first <= step && step <= steps_.last); }

  /// Ends the recording and writes the file: rank after rank appends its part, so all ranks have to see the
  /// folder. Returns the number of events of all ranks that found no room in memory. Collective. Errors:
  /// std::runtime_error on all ranks if one cannot write.
  std::size_t write(const std::filesystem::path& path);

 private:
  std::shared_ptr<Communicator> communicator_;
  StepRange steps_;
  std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
  ClockOffset first_;
  KokkosEvents kokkos_events_;
};

}  // namespace kadam::trace
