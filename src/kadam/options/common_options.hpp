// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/codec/any_quantiser.hpp>
#include <kadam/kernels/number_format.hpp>
#include <kadam/options/learning_rate.hpp>
#include <kadam/options/parameter_groups.hpp>

#include <string>
#include <vector>

namespace kadam {

/// What every optimizer of the family understands.
struct CommonOptions {
  LearningRate learning_rate;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;  ///< decoupled (AdamW); never compressed
  bool bias_correction = true;
  double clip_norm = 0.0;  ///< 0: gradients are not clipped
  std::int64_t dense_below = 0;
  NumberFormat gradients = NumberFormat::float32;  ///< which gradients step() takes, and dense means send
  std::vector<ParameterGroup> groups;

  void describe(OptionFields& fields);
  void validate(std::string_view owner) const;

  /// 1 - beta^t, or 1 without bias correction.
  [[nodiscard]] double first_correction(std::int64_t step) const;
  [[nodiscard]] double second_correction(std::int64_t step) const;
};

/// The scale blocks and the code of a compressed mean.
struct CodecOptions {
  std::int64_t block = 2048;
  SignScale scale = SignScale::rms;
  std::string code = std::string(SignQuantiser::name);
  std::vector<std::string> codes = code_names();  ///< those that the algorithm takes

  void describe(OptionFields& fields);
  void validate(std::string_view owner) const;
};

/// Describes `code`, one of `codes`, and `bits`, another way to set it: the first code of so many bits.
void describe_code(OptionFields& fields, std::string& code, const std::vector<std::string>& codes);

}  // namespace kadam
