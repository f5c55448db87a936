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

/// How far this rank's clock is behind that of rank 0, in seconds, and by how much that may be wrong.
struct ClockOffset {
  double seconds = 0.0;
  double error = 0.0;  ///< at most, either way
  double at = 0.0;     ///< by this rank's clock: when that was so
};

/// What the moments before and after exchanges that nobody leaves before all have come say of two clocks:
/// rank 0 was there before this rank left, and this rank before rank 0 left. [round]; of the same rounds.
struct Meetings {
  std::vector<double> own_before, own_after;    ///< by this rank's clock
  std::vector<double> root_before, root_after;  ///< by that of rank 0
};

/// Every round bounds the offset from both sides: max(root_before - own_after) <= offset <= min(root_after -
/// own_before). The middle of what is left. Worked number: own 1.0 to 1.4, root 5.1 to 5.3: the offset is
/// between 3.7 and 4.3, 4.0 +- 0.3.
[[nodiscard]] ClockOffset offset_from(const Meetings& meetings);

/// Meets a few dozen times. clock(): seconds by this rank's clock. Collective.
[[nodiscard]] ClockOffset measure_offset(Communicator& communicator, const std::function<double()>& clock);

/// Times of this rank as rank 0 would have read them, between two moments at which the offset was measured:
/// clocks of computers drift by some microseconds a second.
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

/// Records a run on all ranks, from its construction on, and writes it as a Chrome trace: what
/// chrome://tracing, Perfetto and Speedscope open. One process per rank, one thread per Track, all by the
/// clock of rank 0.
class Timeline {
 public:
  /// Collective. Errors: as KokkosEvents.
  explicit Timeline(std::shared_ptr<Communicator> communicator, const StepRange& steps = {});
  ~Timeline();
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;

  /// Before each step, if not all are wanted.
  void at_step(std::int64_t step) { recorder_->keep(steps_.first <= step && step <= steps_.last); }

  /// Rank after rank appends to one file, which all ranks have to see. Returns how many events found no room,
  /// of all ranks. Collective. Errors: std::runtime_error on all ranks where one cannot write.
  std::size_t write(const std::filesystem::path& path);

 private:
  std::shared_ptr<Communicator> communicator_;
  StepRange steps_;
  std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
  ClockOffset first_;
  KokkosEvents kokkos_events_;
};

}  // namespace kadam::trace
