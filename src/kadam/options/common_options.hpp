// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/any_quantiser.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/options/option_fields.hpp>
#include <kadam/options/parameter_groups.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace kadam {

/// The learning rate gamma of step t = 1, 2, ...
///
/// lr = [a, b, ...]: entry t - 1, as given. lr = a: linear warm-up a * t / lr_warmup_steps, then by
/// lr_schedule "constant": a; "cosine": from a down to a * lr_final_fraction at step lr_total_steps, constant
/// after; "steps": a * lr_decay^floor((t - 1) / lr_decay_every).
/// Worked number: lr = 0.1, lr_warmup_steps = 10: step 5 has gamma = 0.05.
struct LearningRate {
  std::vector<double> lr = {1e-3};
  std::string lr_schedule = "constant";
  std::int64_t lr_warmup_steps = 0;
  std::int64_t lr_total_steps = 0;
  double lr_final_fraction = 0.0;
  double lr_decay = 0.1;
  std::int64_t lr_decay_every = 0;

  void describe(OptionFields& fields);
  /// Errors: std::invalid_argument, whose text begins with `owner`, for values that do not go together.
  void validate(std::string_view owner) const;

  /// gamma of this step. Errors: std::out_of_range past the end of a list.
  [[nodiscard]] double at(std::int64_t step) const;
};

/// The options that all optimizers have.
struct CommonOptions {
  LearningRate learning_rate;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;  ///< decoupled (AdamW); never compressed
  bool bias_correction = true;
  double clip_norm = 0.0;  ///< the largest Euclidean norm of a gradient, over all tensors; 0: no clipping
  std::int64_t dense_below = 0;                    ///< tensors with fewer elements are kept dense; 0: none
  NumberFormat gradients = NumberFormat::float32;  ///< of gradients that step() takes, and dense means send
  std::vector<ParameterGroup> groups;

  void describe(OptionFields& fields);
  /// Errors: as LearningRate::validate().
  void validate(std::string_view owner) const;

  /// 1 - beta1^step and 1 - beta2^step; 1 without bias correction.
  [[nodiscard]] double first_correction(std::int64_t step) const;
  [[nodiscard]] double second_correction(std::int64_t step) const;
};

/// The options of a compressed mean: its scale blocks and its code.
struct CodecOptions {
  std::int64_t block = 2048;  ///< elements of a scale block; 0: one block per chunk
  SignScale scale = SignScale::rms;
  std::string code = std::string(SignQuantiser::name);
  std::vector<std::string> codes = code_names();  ///< the words that the algorithm takes
  NumberFormat errors = NumberFormat::float32;    ///< in which errors are kept
  bool can_shorten_errors = false;                ///< whether the algorithm takes `errors`

  void describe(OptionFields& fields);
  /// Errors: as LearningRate::validate().
  void validate(std::string_view owner) const;
};

/// Adds the option `code`, one of the words `codes`, and its alias `bits`: this number of bits means the
/// first code that has it. A word that is no code of scale blocks cannot be set by `bits`.
void describe_code(OptionFields& fields, std::string& code, const std::vector<std::string>& codes);

}  // namespace kadam
