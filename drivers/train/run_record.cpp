// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/optimizer_names.hpp>
#include <kadam/version.hpp>
#include <launch/command_line.hpp>
#include <launch/files.hpp>
#include <train/run_record.hpp>

#include <fmt/chrono.h>
#include <nlohmann/json.hpp>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <unistd.h>

namespace kadam::train {
namespace {

using Json = nlohmann::ordered_json;

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

/// As Linux names it; empty elsewhere.
std::string processor_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "";
}

/// The variables that docs/programs.md lists, where they are set.
Json environment() {
  Json set = Json::object();
  for (const char* name :
       {"OMP_NUM_THREADS", "KADAM_PIECE_BYTES", "KADAM_RANKS_PER_NODE", "KADAM_GPU_AWARE", "KADAM_WIRE"}) {
    if (const char* value = std::getenv(name)) set[name] = value;
  }
  return set;
}

/// Whether the optimizer is dense, and its place among those that are as it: its colour in reports.
Json kind_of(const std::string& optimizer) {
  const bool dense = optimizer_traits(optimizer).dense;
  std::int64_t place = 0;
  for (const std::string& name : optimizer_names()) {
    if (name == optimizer) break;
    if (optimizer_traits(name).dense == dense) ++place;
  }
  return {{"dense", dense}, {"place", place}};
}

Json start_of(const RunFacts& facts, const Communicator& communicator) {
  return {{"time", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
          {"after_step", facts.after_step},
          {"host", host_name()},
          {"processor", processor_name()},
          {"ranks", communicator.size()},
          {"exchange", communicator.description()},
          {"threads", Kokkos::DefaultHostExecutionSpace().concurrency()},
          {"execution_space", ExecutionSpace::name()},
          {"version", KADAM_VERSION_STRING},
          {"build", launch::build_info("kadam-train")},
          {"folder", std::filesystem::current_path().string()},
          {"environment", environment()},
          {"command", facts.commands.given},
          {"repetition", facts.commands.repetition}};
}

/// An empty object if there is none.
Json read_record(const std::filesystem::path& file) {
  if (!std::filesystem::exists(file)) return Json::object();
  Json record = Json::parse(launch::read_file(file), nullptr, false);
  return record.is_object() ? record : Json::object();
}

void write_record(const std::filesystem::path& file, const Json& record) {
  launch::write_file(file, record.dump(1, ' ', false, Json::error_handler_t::replace) + '\n');
}

}  // namespace

void open_run_record(const std::filesystem::path& file, const RunFacts& facts,
                     const Communicator& communicator) {
  Json starts = Json::array();
  if (facts.after_step > 0) {
    const Json former = read_record(file);
    if (former.contains("starts") && former["starts"].is_array()) starts = former["starts"];
  }
  starts.push_back(start_of(facts, communicator));
  write_record(file, {{"optimizer", facts.optimizer},
                      {"kind", kind_of(facts.optimizer)},
                      {"model", facts.model},
                      {"parameters", facts.parameters},
                      {"data", facts.data},
                      {"steps", facts.steps},
                      {"examples_per_step", facts.examples_per_step},
                      {"dense_bytes_per_step", facts.dense_bytes_per_step},
                      {"starts", starts}});
}

void close_run_record(const std::filesystem::path& file, const RunSummary& result) {
  Json record = read_record(file);
  record["result"] = to_json(result);
  write_record(file, record);
}

nlohmann::ordered_json to_json(const RunSummary& run) {
  return {{"optimizer", run.algorithm},
          {"training_loss", run.training_loss},
          {"held_out_loss", run.held_out_loss},
          {"held_out_accuracy", run.accuracy},
          {"bytes_per_step", run.bytes_per_step},
          {"background_bytes_per_step", run.background_bytes_per_step},
          {"mean_bytes_per_step", run.mean_bytes_per_step},
          {"dense_bytes_per_step", run.dense_bytes_per_step},
          {"compute_seconds", run.seconds.compute},
          {"encode_seconds", run.seconds.encode},
          {"exchange_seconds", run.seconds.exchange},
          {"decode_seconds", run.seconds.decode},
          {"rest_seconds", run.seconds.rest},
          {"wait_seconds", run.seconds.wait},
          {"wall_seconds", run.wall_seconds},
          {"steps", run.steps},
          {"skipped_steps", run.skipped_steps}};
}

}  // namespace kadam::train
