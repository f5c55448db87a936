// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <trace/recorder.hpp>

#include <array>
#include <memory>

/// Sources of a recorder's events: Kokkos and exchanges.
namespace kadam::trace {

/// Records every kernel, copy and profiling region of Kokkos while it lives. Those in a phase of an
/// optimizer, and kernels of the library, go to Track::codec, all others to Track::compute.
///
/// On a GPU Kokkos then waits for each kernel: lengths are true, but less overlaps than without a recorder.
/// One object at a time, and none beside a tool of KOKKOS_TOOLS_LIBS. Errors: std::runtime_error if there is
/// another.
class KokkosEvents {
 public:
  explicit KokkosEvents(std::shared_ptr<Recorder> recorder);
  ~KokkosEvents();
  KokkosEvents(const KokkosEvents&) = delete;
  KokkosEvents& operator=(const KokkosEvents&) = delete;
};

/// Records every exchange: background exchanges on Track::background, others on Track::network. A message
/// that arrives is drawn from the arrival before it, so that a busy wire is a row without gaps; one that is
/// sent is a point.
class ExchangeEvents final : public ExchangeObserver {
 public:
  explicit ExchangeEvents(std::shared_ptr<Recorder> recorder);

  void exchange_begins(Traffic traffic) override;
  void sends(Traffic traffic, int to, std::size_t bytes) override;
  void has_arrived(Traffic traffic, int from, std::size_t bytes) override;
  void exchange_ends(Traffic traffic) override;

 private:
  /// The exchange of a track that is under way. One thread at a time works on each track.
  struct Queue {
    double begin = 0.0;
    double last_arrival = 0.0;
    std::size_t sent_bytes = 0;
  };
  Queue& queue_of(Track track) { return queues_.at(track == Track::background ? 1 : 0); }

  std::shared_ptr<Recorder> recorder_;
  std::array<Queue, 2> queues_;
};

}  // namespace kadam::trace
