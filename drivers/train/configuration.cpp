// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <train/configuration.hpp>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

namespace kadam::train {
namespace {

[[noreturn]] void refuse(const std::string& sentence) {
  throw std::runtime_error(sentence);
}

OptionValue to_option(const std::string& key, const toml::node& node) {
  if (const auto flag = node.value_exact<bool>()) return *flag;
  if (const auto integer = node.value_exact<std::int64_t>()) return *integer;
  if (const auto number = node.value_exact<double>()) return *number;
  if (const auto text = node.value_exact<std::string>()) return *text;
  if (const toml::array* array = node.as_array()) {
    std::vector<double> list;
    for (const toml::node& entry : *array) {
      const auto number = entry.value<double>();
      if (!number) refuse(fmt::format("'{}': expected a list of numbers", key));
      list.push_back(*number);
    }
    return list;
  }
  refuse(fmt::format("'{}': expected a number, a text, true, false or a list of numbers", key));
}

ParameterGroup to_group(const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr) refuse("'optimizer.groups': expected tables, as in [[optimizer.groups]]");
  ParameterGroup group;
  double weight_decay = -1.0;
  OptionFields fields;
  fields.add("tensors", group.tensors, "");
  fields.add("lr_scale", group.lr_scale, "");
  fields.add("weight_decay", weight_decay, "");
  fields.add("dense", group.dense, "");
  OptionMap values;
  for (const auto& [key, value] : *table)
    values[std::string(key.str())] = to_option(std::string(key.str()), value);
  fields.read("optimizer.groups", values);
  if (group.tensors.empty())
    refuse("'optimizer.groups': each group needs 'tensors', a pattern of tensor names");
  if (weight_decay >= 0.0) group.weight_decay = weight_decay;
  return group;
}

bool is_algorithm(const std::string& name) {
  const std::vector<std::string> names = optimizer_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// What was read, key by key, before anything is interpreted.
struct Keys {
  OptionMap general;  ///< section.key of data, model, training
  Configuration* target;

  void take(const std::string& key, const OptionValue& value) {
    const std::string prefix = "optimizer.";
    if (!key.starts_with(prefix)) {
      general[key] = value;
      return;
    }
    const std::string rest = key.substr(prefix.size());
    const std::size_t dot = rest.find('.');
    if (rest == "name") {
      const auto* name = std::get_if<std::string>(&value);
      if (name == nullptr) refuse("'optimizer.name': expected a text");
      target->optimizer = *name;
    } else if (dot == std::string::npos) {
      target->optimizer_options[rest] = value;
    } else {
      const std::string algorithm = rest.substr(0, dot);
      if (!is_algorithm(algorithm)) {
        refuse(fmt::format("'{}': there is no optimizer '{}': choose one of {}", key, algorithm,
                           fmt::join(optimizer_names(), ", ")));
      }
      target->algorithm_options[algorithm][rest.substr(dot + 1)] = value;
    }
  }

  void take(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      if (key == "optimizer.groups" && node.is_array()) {
        for (const toml::node& group : *node.as_array()) target->groups.push_back(to_group(group));
      } else if (const toml::table* section = node.as_table()) {
        take(*section, key + ".");
      } else {
        take(key, to_option(key, node));
      }
    }
  }
};

toml::table parse_file(const std::filesystem::path& file) {
  try {
    return toml::parse_file(file.string());
  } catch (const toml::parse_error& error) {
    if (!std::filesystem::exists(file)) refuse(fmt::format("{}: there is no such file", file.string()));
    refuse(fmt::format("{}: line {}: {}", file.string(), error.source().begin.line, error.description()));
  }
}

void assign(Keys& keys, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    refuse(fmt::format("--set {}: expected section.key=value, as in optimizer.lr=0.001", assignment));
  }
  const std::string key = assignment.substr(0, equals);
  const std::string text = assignment.substr(equals + 1);
  toml::table value;
  try {
    value = toml::parse("value = " + text);
  } catch (const toml::parse_error&) {
    value.insert("value", text);  // a word that needs no quotation marks on a command line
  }
  keys.take(key, to_option(key, *value.get("value")));
}

std::string expand_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

void insert(toml::table& root, const std::string& key, const OptionValue& value) {
  const std::size_t dot = key.find('.');
  if (dot != std::string::npos) {
    const std::string section = key.substr(0, dot);
    if (!root.contains(section)) root.insert(section, toml::table{});
    insert(*root[section].as_table(), key.substr(dot + 1), value);
    return;
  }
  std::visit(
      [&](const auto& v) {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::vector<double>>) {
          toml::array list;
          for (const double number : v) list.push_back(number);
          root.insert_or_assign(key, list);
        } else {
          root.insert_or_assign(key, v);
        }
      },
      value);
}

}  // namespace

void TrainingOptions::validate() const {
  const std::string owner = "training";
  require_option(steps > 0, owner, "'steps': expected 1 or more");
  require_option(batch > 0, owner, "'batch': expected 1 or more examples per rank");
  require_option(accumulate > 0, owner, "'accumulate': expected 1 or more");
  require_option(seed >= 0, owner, "'seed': expected 0 or more");
  require_option(log_every > 0, owner, "'log_every': expected 1 or more steps");
  require_option(evaluate_every >= 0, owner,
                 "'evaluate_every': expected 0 (at the end only) or a number of steps");
  require_option(held_out_examples >= 0, owner, "'held_out_examples': expected 0 (all) or more");
}

void Configuration::describe(OptionFields& fields) {
  fields.add("data.kind", data.kind, "idx (MNIST and relatives), cifar10 or text");
  fields.add("data.path", data.path, "folder (idx, cifar10) or file (text)");
  fields.add("data.context", data.text.context, "text: bytes of an example");
  fields.add("data.held_out_fraction", data.text.held_out_fraction,
             "text: last part of the file, not trained on");
  fields.add("model.kind", model.kind, "mlp, cnn or transformer");
  fields.add("model.hidden", model.mlp.hidden, "mlp: widths of the hidden layers");
  fields.add("model.activation", model.mlp.activation, "mlp: relu or gelu");
  fields.add("model.first_channels", model.cnn.first_channels, "cnn: outputs of the first convolution");
  fields.add("model.second_channels", model.cnn.second_channels, "cnn: outputs of the second convolution");
  fields.add("model.width", model.transformer.width, "transformer: of a token's vector");
  fields.add("model.depth", model.transformer.depth, "transformer: blocks");
  fields.add("model.heads", model.transformer.heads, "transformer: attention heads per block");
  fields.add("training.steps", training.steps, "optimizer steps");
  fields.add("training.batch", training.batch, "examples per rank at a time");
  fields.add("training.accumulate", training.accumulate, "batches whose mean gradient makes one step");
  fields.add("training.seed", training.seed, "of the initial parameters and the order of examples");
  fields.add("training.log_every", training.log_every, "steps per line of metrics");
  fields.add("training.evaluate_every", training.evaluate_every,
             "steps between evaluations (0: at the end only)");
  fields.add("training.held_out_examples", training.held_out_examples,
             "held-out examples looked at (0: all)");
}

OptionMap Configuration::options_for(const std::string& algorithm) const {
  OptionMap options = optimizer_options;
  const auto own = algorithm_options.find(algorithm);
  if (own != algorithm_options.end()) {
    for (const auto& [name, value] : own->second) options[name] = value;
  }
  return options;
}

Configuration read_configuration(const std::filesystem::path& file,
                                 const std::vector<std::string>& assignments) {
  Configuration configuration;
  Keys keys{{}, &configuration};
  if (!file.empty()) keys.take(parse_file(file), "");
  for (const std::string& assignment : assignments) assign(keys, assignment);
  OptionFields fields;
  configuration.describe(fields);
  fields.read("the configuration", keys.general);
  configuration.training.validate();
  configuration.data.path = expand_home(configuration.data.path);
  configuration.data.validate();
  configuration.model.validate();
  return configuration;
}

std::string to_toml(const Configuration& configuration, const std::string& algorithm,
                    const OptionMap& resolved_options) {
  Configuration copy = configuration;
  OptionFields fields;
  copy.describe(fields);
  toml::table root;
  for (const auto& [key, value] : fields.show()) insert(root, key, value);
  insert(root, "optimizer.name", algorithm);
  for (const auto& [name, value] : resolved_options) insert(root, "optimizer." + name, value);
  toml::array groups;
  for (const ParameterGroup& group : configuration.groups) {
    toml::table table{{"tensors", group.tensors}, {"lr_scale", group.lr_scale}, {"dense", group.dense}};
    if (group.weight_decay) table.insert("weight_decay", *group.weight_decay);
    groups.push_back(table);
  }
  if (!groups.empty()) root["optimizer"].as_table()->insert("groups", groups);
  std::ostringstream text;
  text << root << '\n';
  return text.str();
}

}  // namespace kadam::train
