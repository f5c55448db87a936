// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/io/npy.hpp>
#include <replay/replay_case.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <set>
#include <stdexcept>

namespace kadam::replay {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw std::runtime_error(file.string() + ": " + what);
}

json read_json(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) refuse(file, "cannot be read: expected a folder with case.json, parameters.npy and gradients");
  try {
    return json::parse(stream);
  } catch (const json::exception& error) {  // of the text, or of a number that no double holds
    refuse(file, error.what());
  }
}

OptionValue to_option(const fs::path& file, const std::string& name, const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  try {
    return value.get<std::vector<double>>();
  } catch (const json::exception&) {
    refuse(file, "option '" + name + "': expected a number, a text, true, false or a list of numbers");
  }
}

/// The words of [[optimizer.groups]] in a configuration.
ParameterGroup to_group(const fs::path& file, const json& entry) {
  if (!entry.is_object()) refuse(file, "'groups': expected objects with 'tensors', got " + entry.dump());
  OptionMap values;
  for (const auto& [name, value] : entry.items()) values[name] = to_option(file, "groups." + name, value);
  try {
    return read_group("groups", values);
  } catch (const std::invalid_argument& error) {
    refuse(file, error.what());
  }
}

std::vector<ParameterGroup> to_groups(const fs::path& file, const json& object) {
  std::vector<ParameterGroup> groups;
  if (!object.contains("groups")) return groups;
  if (!object["groups"].is_array()) refuse(file, "expected 'groups' to be a list of objects");
  for (const json& entry : object["groups"]) groups.push_back(to_group(file, entry));
  return groups;
}

/// A number of ranks, steps or elements: at least `least`, and small enough to multiply.
std::int64_t to_count(const fs::path& file, const json& object, const char* key, std::int64_t least) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (!object.contains(key) || !object[key].is_number_integer()) {
    refuse(file, fmt::format("expected the key '{}' with a whole number", key));
  }
  const auto value = object[key].get<std::int64_t>();
  if (value < least || value > most) {
    refuse(file, fmt::format("'{}': expected at least {} and at most 2^31, got {}", key, least,
                             object[key].dump()));
  }
  return value;
}

std::vector<std::int64_t> to_shape(const fs::path& file, const json& list) {
  std::vector<std::int64_t> shape;
  for (const json& extent : list) {
    if (!extent.is_number_integer()) refuse(file, "'shape': expected a list of extents, got " + list.dump());
    shape.push_back(extent.get<std::int64_t>());
  }
  return shape;
}

TensorLayout to_layout(const fs::path& file, const json& object) {
  if (!object.contains("tensors") || !object["tensors"].is_array())
    refuse(file, "expected the key 'tensors' with a list");
  std::vector<Tensor> tensors;
  for (const json& entry : object["tensors"]) {
    if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string()) {
      refuse(file, "expected tensors with 'name', 'begin' and 'end', got " + entry.dump());
    }
    Tensor tensor{entry["name"].get<std::string>(), to_count(file, entry, "begin", 0),
                  to_count(file, entry, "end", 0)};
    if (entry.contains("shape")) tensor.shape = to_shape(file, entry["shape"]);
    if (entry.contains("spectral")) {
      if (!entry["spectral"].is_boolean()) refuse(file, "'spectral': expected true or false");
      tensor.spectral = entry["spectral"].get<bool>();
    }
    tensors.push_back(std::move(tensor));
  }
  try {
    return TensorLayout(std::move(tensors));
  } catch (const std::invalid_argument& error) {
    refuse(file, error.what());
  }
}

std::vector<float> read_parameters(const fs::path& file, std::int64_t elements) {
  io::NpyReader reader(file);
  if (reader.shape() != std::vector<std::int64_t>{elements}) {
    refuse(file, fmt::format("expected the shape [{}], as in case.json, got [{}]", elements,
                             fmt::join(reader.shape(), ", ")));
  }
  std::vector<float> values(static_cast<std::size_t>(elements));
  reader.read(0, values);
  return values;
}

std::string to_algorithm(const fs::path& file, const json& object) {
  if (!object.contains("algorithm")) return {};
  if (!object["algorithm"].is_string()) refuse(file, "expected 'algorithm' to be a text");
  return object["algorithm"].get<std::string>();
}

/// Those of the algorithm: without one they would be nobody's.
OptionMap to_options(const fs::path& file, const json& object) {
  OptionMap options;
  if (!object.contains("options")) return options;
  if (!object["options"].is_object()) refuse(file, "expected 'options' to be an object of names and values");
  if (!object.contains("algorithm"))
    refuse(file, "'options' needs 'algorithm': add the name of the optimizer that has these options");
  for (const auto& [name, value] : object["options"].items()) options[name] = to_option(file, name, value);
  return options;
}

/// A key that is not honoured is an error: a misspelt "options" would replay something else.
void require_known_keys(const fs::path& file, const json& object) {
  const std::set<std::string> known = {"algorithm", "groups", "options", "ranks", "steps", "tensors"};
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key))
      refuse(file, fmt::format("unknown key '{}': the keys are {}", key, fmt::join(known, ", ")));
  }
}

}  // namespace

ReplayCase read_case(const fs::path& folder, int ranks) {
  const fs::path file = folder / "case.json";
  const json object = read_json(file);
  if (!object.is_object()) refuse(file, "expected an object");
  require_known_keys(file, object);
  ReplayCase result;
  result.folder = folder;
  result.algorithm = to_algorithm(file, object);
  result.ranks = static_cast<int>(to_count(file, object, "ranks", 1));
  if (object.contains("steps")) result.steps = to_count(file, object, "steps", 0);
  result.tensors = to_layout(file, object);
  result.options = to_options(file, object);
  result.groups = to_groups(file, object);
  if (result.ranks != ranks) {
    refuse(file, fmt::format(
                     "the case was recorded on {0} ranks, but this run has {1}: start it with mpirun -n {0}",
                     result.ranks, ranks));
  }
  result.parameters = read_parameters(folder / "parameters.npy", result.tensors.elements());
  return result;
}

}  // namespace kadam::replay
