// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/phases.hpp>
#include <kadam/comm/communicator.hpp>
#include <trace/listeners.hpp>

#include <Kokkos_Core.hpp>

#include <stdexcept>
#include <utility>

namespace kadam::trace {
namespace {

namespace tools = Kokkos::Tools::Experimental;

/// A region, kernel or copy that has begun and not ended.
struct Open {
  std::string name;
  double begin = 0.0;
  bool is_phase = false;
};

/// State of the callbacks, which are plain functions. Kernels, copies and regions come from one thread.
struct Listening {
  std::shared_ptr<Recorder> recorder;
  std::vector<Open> regions;
  std::vector<Open> work;
  int phases = 0;  ///< number of open regions that are phases
};
Listening* listening = nullptr;

bool is_phase(std::string_view name) {
  for (const Phase phase : {Phase::check, Phase::encode, Phase::exchange, Phase::decode}) {
    if (name == region_of(phase)) return true;
  }
  return false;
}

/// The workloads are drivers' code under the library's name.
bool is_of_library(std::string_view name) {
  return name.starts_with("kadam::") && !name.starts_with("kadam::workloads::");
}

void push_region(const char* name) {
  const bool phase = is_phase(name);
  if (phase) ++listening->phases;
  listening->regions.push_back({name, listening->recorder->now(), phase});
}

void pop_region() {
  if (listening->regions.empty()) return;  // it began before we listened
  const Open region = std::move(listening->regions.back());
  listening->regions.pop_back();
  const Track track = listening->phases > 0 ? Track::codec : Track::compute;
  if (region.is_phase) --listening->phases;
  listening->recorder->add(track, region.name, region.begin, listening->recorder->now());
}

void begin_work(const char* name) {
  listening->work.push_back({name, listening->recorder->now()});
}

void end_work() {
  if (listening->work.empty()) return;
  const Open work = std::move(listening->work.back());
  listening->work.pop_back();
  const Track track = listening->phases > 0 || is_of_library(work.name) ? Track::codec : Track::compute;
  listening->recorder->add(track, work.name, work.begin, listening->recorder->now());
}

void begin_kernel(const char* name, std::uint32_t /*device*/, std::uint64_t* /*id*/) {
  begin_work(name);
}
void end_kernel(std::uint64_t /*id*/) {
  end_work();
}

void begin_copy(Kokkos::Tools::SpaceHandle /*to*/, const char* to_name, const void* /*to_data*/,
                Kokkos::Tools::SpaceHandle /*from*/, const char* /*from_name*/, const void* /*from_data*/,
                std::uint64_t /*bytes*/) {
  const std::string name = to_name;
  begin_work(name.empty() ? "copy" : ("copy to " + name).c_str());
}

void set_callbacks(bool wanted) {
  tools::set_push_region_callback(wanted ? push_region : nullptr);
  tools::set_pop_region_callback(wanted ? pop_region : nullptr);
  tools::set_begin_parallel_for_callback(wanted ? begin_kernel : nullptr);
  tools::set_begin_parallel_reduce_callback(wanted ? begin_kernel : nullptr);
  tools::set_begin_parallel_scan_callback(wanted ? begin_kernel : nullptr);
  tools::set_end_parallel_for_callback(wanted ? end_kernel : nullptr);
  tools::set_end_parallel_reduce_callback(wanted ? end_kernel : nullptr);
  tools::set_end_parallel_scan_callback(wanted ? end_kernel : nullptr);
  tools::set_begin_deep_copy_callback(wanted ? begin_copy : nullptr);
  tools::set_end_deep_copy_callback(wanted ? end_work : nullptr);
}

constexpr std::array<const char*, traffic_classes> exchange_names = {
    "control",         "dense exchange",      "compressed exchange",
    "sparse exchange", "background exchange", "exchange inside the node"};

Track track_of(Traffic traffic) {
  return traffic == Traffic::background ? Track::background : Track::network;
}

}  // namespace

KokkosEvents::KokkosEvents(std::shared_ptr<Recorder> recorder) {
  if (listening != nullptr || Kokkos::Tools::profileLibraryLoaded()) {
    throw std::runtime_error(
        "kadam::trace: a timeline and a tool of KOKKOS_TOOLS_LIBS cannot use the callbacks of Kokkos at the "
        "same time");
  }
  listening = new Listening{std::move(recorder), {}, {}, 0};
  set_callbacks(true);
}

KokkosEvents::~KokkosEvents() {
  set_callbacks(false);
  delete listening;
  listening = nullptr;
}

ExchangeEvents::ExchangeEvents(std::shared_ptr<Recorder> recorder) : recorder_(std::move(recorder)) {}

void ExchangeEvents::exchange_begins(Traffic traffic) {
  const double now = recorder_->now();
  queue_of(track_of(traffic)) = {now, now, 0};
}

void ExchangeEvents::sends(Traffic traffic, int to, std::size_t bytes) {
  const Track track = track_of(traffic);
  queue_of(track).sent_bytes += bytes;
  recorder_->add_message(track, message_leaves, recorder_->now(), Event::at_once, to, bytes);
}

void ExchangeEvents::has_arrived(Traffic traffic, int from, std::size_t bytes) {
  const Track track = track_of(traffic);
  Queue& queue = queue_of(track);
  const double now = recorder_->now();
  recorder_->add_message(track, message_arrives, queue.last_arrival, now - queue.last_arrival, from, bytes);
  queue.last_arrival = now;
}

void ExchangeEvents::exchange_ends(Traffic traffic) {
  const Track track = track_of(traffic);
  const Queue& queue = queue_of(track);
  recorder_->add_message(track, exchange_names.at(static_cast<std::size_t>(traffic)), queue.begin,
                         recorder_->now() - queue.begin, -1, queue.sent_bytes);
}

}  // namespace kadam::trace
