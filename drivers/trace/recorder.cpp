// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <trace/recorder.hpp>

namespace kadam::trace {

void Recorder::add(Track track, std::string_view name, double begin, double end) {
  add({begin, end - begin, 0, track, 0, -1}, name);
}

void Recorder::add_message(Track track, std::string_view name, double begin, double length, int peer,
                           std::size_t bytes) {
  add({begin, length, 0, track, static_cast<std::int64_t>(bytes), peer}, name);
}

void Recorder::add(Event event, std::string_view name) {
  if (!keeps_) return;
  const std::lock_guard lock(mutex_);
  if (events_.size() >= most_events_) {
    ++left_out_;
    return;
  }
  auto found = number_of_.find(name);
  if (found == number_of_.end()) {
    found = number_of_.emplace(name, names_.size()).first;
    names_.emplace_back(name);
  }
  event.name = found->second;
  events_.push_back(event);
}

}  // namespace kadam::trace
