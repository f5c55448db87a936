// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <report/json_numbers.hpp>
#include <report/run_record.hpp>

#include <nlohmann/json.hpp>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace kadam::report {
namespace {

using Json = nlohmann::json;

/// An empty array where there is no member of this kind: whatever a file says, nothing here throws.
const Json& member(const Json& object, const char* name, Json::value_t kind) {
  static const Json nothing = Json::array();
  const auto found = object.find(name);
  return found != object.end() && found->type() == kind ? *found : nothing;
}

std::string string_in(const Json& object, const char* name) {
  const Json& value = member(object, name, Json::value_t::string);
  return value.is_string() ? value.get<std::string>() : "";
}

std::int64_t count_of(const Numbers& numbers, const char* name) {
  constexpr double largest = 1e15;
  const double value = number_of(numbers, name).value_or(0.0);
  return value >= 0.0 && value <= largest ? static_cast<std::int64_t>(value) : 0;
}

std::map<std::string, std::string> texts_of(const Json& object) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : object.items()) {
    if (value.is_string()) texts[name] = value.get<std::string>();
  }
  return texts;
}

std::vector<std::string> words_of(const Json& list) {
  std::vector<std::string> words;
  for (const Json& word : list) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return words;
}

Start start_of(const Json& object) {
  const Numbers numbers = numbers_of(object);
  return {texts_of(object),
          texts_of(member(object, "environment", Json::value_t::object)),
          words_of(member(object, "command", Json::value_t::array)),
          words_of(member(object, "repetition", Json::value_t::array)),
          count_of(numbers, "ranks"),
          count_of(numbers, "threads"),
          count_of(numbers, "after_step")};
}

}  // namespace

std::string content_of(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file).rdbuf();
  return content.str();
}

void read_record(Run& run) {
  run.configuration = content_of(run.folder / "config.toml");
  if (run.configuration.empty()) run.remarks.emplace_back("There is no config.toml beside its metrics.");
  const std::filesystem::path file = run.folder / "run.json";
  if (!std::filesystem::exists(file)) {
    run.remarks.emplace_back(
        "There is no run.json beside its metrics (an earlier Kadam wrote none): when, where and how it was "
        "run is not known.");
    return;
  }
  const Json record = Json::parse(content_of(file), nullptr, false);
  if (!record.is_object()) throw std::runtime_error(file.string() + ": expected a JSON object");
  run.optimizer = string_in(record, "optimizer");
  run.model = string_in(record, "model");
  run.data = string_in(record, "data");
  run.facts = numbers_of(record);
  run.result = numbers_of(member(record, "result", Json::value_t::object));
  for (const Json& start : member(record, "starts", Json::value_t::array)) {
    if (start.is_object()) run.starts.push_back(start_of(start));
  }
}

std::vector<std::pair<std::string, Numbers>> read_comparison(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "comparison.json";
  if (!std::filesystem::exists(file)) return {};
  const Json list = Json::parse(content_of(file), nullptr, false);
  if (!list.is_array()) throw std::runtime_error(file.string() + ": expected a JSON list of objects");
  std::vector<std::pair<std::string, Numbers>> results;
  for (const Json& result : list) {
    if (result.is_object()) results.emplace_back(string_in(result, "optimizer"), numbers_of(result));
  }
  return results;
}

}  // namespace kadam::report
