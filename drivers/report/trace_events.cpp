// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/trace_events.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>
#include <utility>

namespace kadam::report {
namespace {

/// Told of a JSON file piece by piece. An event is an object in the list traceEvents.
class EventHandler final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit EventHandler(const TakeEvent& take) : take_(take) {}

  [[nodiscard]] bool has_events() const { return has_events_; }
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  [[nodiscard]] std::size_t broken_at() const { return broken_at_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value)); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return number(value); }
  bool binary(binary_t& /*value*/) override { return true; }

  bool string(string_t& value) override {
    if (is_inside(event_depth) && key_ == "name") event_.name = value;
    if (is_inside(event_depth) && key_ == "ph" && value.size() == 1) event_.kind = value.front();
    if (is_inside(event_depth + 1) && key_ == "labels") event_.labels = value;
    return true;
  }
  bool key(string_t& name) override {
    if (depth_ == 1) is_of_events_ = name == "traceEvents";
    key_ = std::move(name);
    return true;
  }
  bool start_object(std::size_t /*elements*/) override {
    ++depth_;
    if (is_inside(event_depth)) event_ = {};
    return true;
  }
  bool end_object() override {
    const bool is_event = is_inside(event_depth);
    --depth_;
    return !is_event || take_(event_);
  }
  bool start_array(std::size_t /*elements*/) override {
    ++depth_;
    has_events_ = has_events_ || is_inside(event_depth - 1);
    return true;
  }
  bool end_array() override {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    is_broken_ = true;
    broken_at_ = position;
    return false;
  }

 private:
  static constexpr int event_depth = 3;  ///< the whole, the list, the event

  [[nodiscard]] bool is_inside(int depth) const { return is_of_events_ && depth_ == depth; }

  bool number(double value) {
    constexpr double largest = 1e15;  // thirty years
    if (!is_inside(event_depth) || !(value >= -largest && value <= largest)) return true;
    if (key_ == "ts") event_.begin = value;
    if (key_ == "dur") event_.length = value;
    if (key_ == "pid" && value >= 0.0 && value < 1e9) event_.process = static_cast<int>(value);
    if (key_ == "tid" && value >= 0.0 && value < 1e9) event_.thread = static_cast<int>(value);
    return true;
  }

  const TakeEvent& take_;
  TraceEvent event_;
  std::string key_;
  int depth_ = 0;
  bool is_of_events_ = false;
  bool has_events_ = false;
  bool is_broken_ = false;
  std::size_t broken_at_ = 0;
};

}  // namespace

void read_trace_events(const std::filesystem::path& file, const TakeEvent& take) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw std::runtime_error("it cannot be read");
  EventHandler handler(take);
  (void)nlohmann::json::sax_parse(stream, &handler);
  if (handler.is_broken())
    throw std::runtime_error(fmt::format("it is no whole JSON, from byte {} on", handler.broken_at()));
  if (!handler.has_events()) throw std::runtime_error("it has no list traceEvents");
}

}  // namespace kadam::report
