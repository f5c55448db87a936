// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <trace/chrome_trace.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>

namespace kadam::trace {
namespace {

constexpr std::array<const char*, track_count> track_names = {"compute", "encode and decode", "network",
                                                              "background"};

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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

}  // namespace

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

}  // namespace kadam::trace
