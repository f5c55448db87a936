// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/comm/communicator.hpp>
#include <trace/recorder.hpp>

#include <array>
#include <memory>

/// What a recorder is told of: Kokkos and exchanges.
namespace kadam::trace {

/// Records every kernel, copy and profiling region of Kokkos while it lives: what lies in a phase of
/// an optimizer, or is a kernel of the library, on the track of the codec, the rest on that of computation.
///
/// On a GPU Kokkos then waits for each kernel: lengths are true, and less overlaps than without. At most one
/// at a time, and none beside a tool of KOKKOS_TOOLS_LIBS. Errors: std::runtime_error where there is one.
class KokkosEvents {
 public:
  explicit KokkosEvents(std::shared_ptr<Recorder> recorder);
  ~KokkosEvents();
  KokkosEvents(const KokkosEvents&) = delete;
  KokkosEvents& operator=(const KokkosEvents&) = delete;
};

/// Records every exchange: those in the background on a track of their own. Inside an exchange each message
/// that arrives lasts since the one before, so that a busy wire is a row without gaps; each that is sent is a
/// point.
class ExchangeEvents final : public ExchangeObserver {
 public:
  explicit ExchangeEvents(std::shared_ptr<Recorder> recorder);

  void exchange_begins(Traffic traffic) override;
  void sends(Traffic traffic, int to, std::size_t bytes) override;
  void has_arrived(Traffic traffic, int from, std::size_t bytes) override;
  void exchange_ends(Traffic traffic) override;

 private:
  /// One thread at a time works on each.
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
