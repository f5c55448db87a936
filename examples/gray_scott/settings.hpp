// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/options/option_fields.hpp>
#include <kadam/options/parameter_groups.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace gray_scott {

struct SolverOptions {
  std::int64_t width = 192, height = 192;
  double feed = 0.018, kill = 0.051;  ///< F, k
  double diffusion_u = 0.16, diffusion_v = 0.08;
  double spacing = 1.0;  ///< h, the side of a cell
  double time_step = 1.0;
  std::int64_t spots = 30;
  double noise = 0.02;
  std::int64_t spin_up = 2000;
  std::int64_t seed = 1;

  /// The largest stable time_step of diffusion: h^2 / (4 max(D_u, D_v)).
  [[nodiscard]] double largest_time_step() const;
};

struct SurrogateOptions {
  std::int64_t jump = 20;
  std::int64_t radius = 3;
  std::vector<std::int64_t> hidden = {64, 64};
  std::int64_t history = 16;
};

struct TrainingOptions {
  std::int64_t jumps = 150, steps_per_jump = 20;
  std::int64_t batch = 128;
  std::int64_t seed = 1;
  std::int64_t evaluate_every = 5;
  std::int64_t unseen_jumps = 10;

  [[nodiscard]] std::int64_t steps() const { return jumps * steps_per_jump; }
};

struct OptimizerSettings {
  std::string name = "adam";
  kadam::OptionMap options;
  std::vector<kadam::ParameterGroup> groups;
};

/// All that defines a run.
struct Settings {
  SolverOptions solver;
  SurrogateOptions surrogate;
  TrainingOptions training;
  OptimizerSettings optimizer;
  std::string toml;  ///< the settings as TOML; read as a file they make the same run

  /// Adds the keys of solver, surrogate and training, with meanings and ranges, to `fields`. Kadam reads
  /// these keys, refuses others and shows them, as it does with the options of an optimizer. `fields` write
  /// into this object.
  void describe(kadam::OptionFields& fields);
  /// Errors: std::invalid_argument if the time step is not stable.
  void validate() const;
};

/// Reads a TOML file (none if the path is empty), then assignments "section.key=value" in their order.
/// optimizer: a name that overrides both, unless it is empty. Errors: one sentence that names the file and
/// line, or the key and what exists.
[[nodiscard]] Settings read_settings(const std::filesystem::path& file,
                                     const std::vector<std::string>& assignments,
                                     const std::string& optimizer);

/// Help on the keys of solver, surrogate and training, with meaning and default.
[[nodiscard]] std::string key_help();

}  // namespace gray_scott
