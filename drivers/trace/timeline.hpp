// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <trace/clocks.hpp>
#include <trace/kokkos_events.hpp>
#include <trace/recorder.hpp>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>

namespace kadam::trace {

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
