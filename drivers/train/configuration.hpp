// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <configuration/keys.hpp>
#include <kadam/options/option_fields.hpp>
#include <workloads/make_dataset.hpp>
#include <workloads/make_model.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kadam::train {

/// Section [training]: the length of a run, its batches, and how often it logs and evaluates. describe() says
/// what each key means.
///
/// validate() throws std::invalid_argument for values out of range.
struct TrainingOptions {
  std::int64_t steps = 500;
  std::int64_t batch = 32;
  std::int64_t accumulate = 1;
  bool overlap = true;
  std::int64_t seed = 1;
  std::int64_t log_every = 10;
  std::int64_t evaluate_every = 0;
  std::int64_t held_out_examples = 0;

  void validate() const;
};

/// All that defines a run: a TOML file with the sections data, model, training and optimizer. Each key can
/// also be given as section.key=value, which overrides the file.
struct Configuration {
  workloads::DataOptions data;
  workloads::ModelOptions model;
  TrainingOptions training;
  configuration::OptimizerSettings optimizer;

  /// Adds the keys of data, model and training, with their help, to `fields`, which write into this object.
  void describe(OptionFields& fields);
  /// Checks that these algorithms can be compared: none is named twice, and all of them know every option in
  /// [optimizer]. Errors: std::runtime_error; std::invalid_argument for an unknown algorithm.
  void require_honoured_by(const std::vector<std::string>& algorithms) const;
};

/// Reads a file (none if the path is empty), then the assignments "section.key=value" in their order.
/// Errors: std::runtime_error or std::invalid_argument, one sentence that names the file and line, or the key
/// and what exists.
[[nodiscard]] Configuration read_configuration(const std::filesystem::path& file,
                                               const std::vector<std::string>& assignments);

/// TOML of a configuration, with the defaults of data, model and training written out.
[[nodiscard]] std::string to_toml(const Configuration& of);

/// TOML of one run: the configuration with one algorithm and its resolved options. Read back, it makes the
/// same run.
[[nodiscard]] std::string to_toml(const Configuration& of, const std::string& algorithm,
                                  const OptionMap& resolved_options);

/// Help on all keys of the configuration, with meaning and default, in lines of at most 100 characters.
/// Options that all optimizers share are listed once.
[[nodiscard]] std::string key_help();

}  // namespace kadam::train
