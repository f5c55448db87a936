// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <trace/listeners.hpp>
#include <trace/timeline.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <utility>

namespace kadam::trace {
namespace {

void append(const std::filesystem::path& path, const std::string& text, bool is_first) {
  // Only the first rank makes the file: if a rank on another host does not see it, opening must fail.
  std::ofstream stream(
      path, is_first ? std::ios::out | std::ios::trunc : std::ios::in | std::ios::out | std::ios::ate);
  stream << text;
  if (!stream.flush()) {
    throw std::runtime_error(
        path.string() + ": cannot be " +
        (is_first ? "written" : "appended to: all ranks must see the folder of the run"));
  }
}

/// The part of the file that one rank writes.
struct Part {
  int rank = 0;
  int ranks = 1;
  double clock_error = 0.0;  ///< seconds that this rank's times may be wrong by
};

constexpr std::array<const char*, track_count> track_names = {"compute", "encode and decode", "network",
                                                              "background"};

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The label of a rank whose times may be wrong by so many seconds: "clock +- 12 us".
std::string clock_label(double error_seconds) {
  return fmt::format("clock +- {:.0f} us", 1e6 * error_seconds);
}

std::string heading(const Part& part) {
  std::string text =
      fmt::format(R"({{"name":"process_name","ph":"M","pid":{0},"args":{{"name":"rank {0}"}}}},)"
                  "\n"
                  R"({{"name":"process_sort_index","ph":"M","pid":{0},"args":{{"sort_index":{0}}}}},)"
                  "\n"
                  R"({{"name":"process_labels","ph":"M","pid":{0},"args":{{"labels":"{1}"}}}})",
                  part.rank, clock_label(part.clock_error));
  for (std::size_t track = 0; track < track_count; ++track) {
    text += fmt::format(
        ",\n"
        R"({{"name":"thread_name","ph":"M","pid":{0},"tid":{1},"args":{{"name":"{2}"}}}},)"
        "\n"
        R"({{"name":"thread_sort_index","ph":"M","pid":{0},"tid":{1},"args":{{"sort_index":{1}}}}})",
        part.rank, track, track_names.at(track));
  }
  return text;
}

std::string arguments(const Event& event) {
  if (event.bytes == 0) return "";
  if (event.peer < 0) return fmt::format(R"(,"args":{{"sent_bytes":{}}})", event.bytes);
  return fmt::format(R"(,"args":{{"bytes":{},"rank":{}}})", event.bytes, event.peer);
}

std::string line(const Event& event, const std::string& name, const CommonClock& clock, int rank) {
  const double begin = 1e6 * clock(event.begin);
  const auto track = static_cast<int>(event.track);
  if (event.length == Event::at_once) {
    return fmt::format(R"({{"name":{},"ph":"i","s":"t","pid":{},"tid":{},"ts":{:.3f}{}}})", name, rank, track,
                       begin, arguments(event));
  }
  const double length = 1e6 * clock(event.begin + event.length) - begin;
  return fmt::format(R"({{"name":{},"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f}{}}})", name, rank,
                     track, begin, length, arguments(event));
}

/// The events of a rank in the JSON object format of Chrome traces, times in microseconds. The file is the
/// parts of all ranks, one after the other.
std::string chrome_trace(const Recorder& recorder, const CommonClock& clock, const Part& part) {
  std::vector<std::string> names;
  names.reserve(recorder.names().size());
  for (const std::string& name : recorder.names()) names.push_back(quoted(name));
  std::string text = part.rank == 0 ? "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" : ",\n";
  text += heading(part);
  for (const Event& event : recorder.events())
    text += ",\n" + line(event, names[event.name], clock, part.rank);
  return text + (part.rank == part.ranks - 1 ? "\n]}\n" : "");
}

}  // namespace

ClockOffset offset_from(const Meetings& meetings) {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < meetings.own_before.size(); ++k) {
    least = std::max(least, meetings.root_before[k] - meetings.own_after[k]);
    most = std::min(most, meetings.root_after[k] - meetings.own_before[k]);
  }
  return {0.5 * (least + most), 0.5 * (most - least), meetings.own_after.back()};
}

ClockOffset measure_offset(Communicator& communicator, const std::function<double()>& clock) {
  constexpr int rounds = 50;
  Meetings meetings;
  const double nothing = 0.0;
  for (int k = 0; k < rounds; ++k) {
    meetings.own_before.push_back(clock());
    (void)communicator.all_gather_values({&nothing, 1});
    meetings.own_after.push_back(clock());
    const std::array<double, 2> own = {meetings.own_before.back(), meetings.own_after.back()};
    const std::vector<double> all = communicator.all_gather_values(own);
    meetings.root_before.push_back(all[0]);
    meetings.root_after.push_back(all[1]);
  }
  if (communicator.rank() == 0) return {0.0, 0.0, meetings.own_after.back()};
  return offset_from(meetings);
}

double CommonClock::operator()(double own) const {
  const double length = last_.at - first_.at;
  const double part = length > 0.0 ? (own - first_.at) / length : 0.0;
  return own + std::lerp(first_.seconds, last_.seconds, part);
}

Timeline::Timeline(std::shared_ptr<Communicator> communicator, const StepRange& steps)
    : communicator_(std::move(communicator)),
      steps_(steps),
      first_(measure_offset(*communicator_, [this] { return recorder_->now(); })),
      kokkos_events_(recorder_) {
  communicator_->observe(std::make_shared<ExchangeEvents>(recorder_));
}

Timeline::~Timeline() {
  communicator_->observe(nullptr);
}

std::size_t Timeline::write(const std::filesystem::path& path) {
  recorder_->keep(false);
  const ClockOffset last = measure_offset(*communicator_, [this] { return recorder_->now(); });
  const CommonClock clock(first_, last);
  const int ranks = communicator_->size();
  for (int rank = 0; rank < ranks; ++rank) {
    std::exception_ptr failure;
    try {
      if (rank == communicator_->rank()) {
        append(path, chrome_trace(*recorder_, clock, {rank, ranks, std::max(first_.error, last.error)}),
               rank == 0);
      }
    } catch (...) {
      failure = std::current_exception();
    }
    communicator_->require_success(failure);
  }
  const double left_out = communicator_->sum_over_ranks(static_cast<double>(recorder_->left_out()));
  return static_cast<std::size_t>(left_out);
}

}  // namespace kadam::trace
