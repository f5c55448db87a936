// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/options/common_options.hpp>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kadam {

void CommonOptions::describe(OptionFields& fields) {
  learning_rate.describe(fields);
  fields.add("beta1", beta1, Range::at_least(0.0).below(1.0), "decay of the first moment");
  fields.add("beta2", beta2, Range::at_least(0.0).below(1.0), "decay of the second moment");
  fields.add("eps", eps, Range::above(0.0), "added to the root of the second moment");
  fields.add("weight_decay", weight_decay, Range::at_least(0.0), "decoupled weight decay");
  fields.add("bias_correction", bias_correction, "divide the moments by 1 - beta^t");
  fields.add("clip_norm", clip_norm, Range::at_least(0.0), "clip gradients to this global norm (0: never)");
  fields.add("dense_below", dense_below, Range::at_least(0),
             "keep tensors with fewer elements dense (0: none)");
  std::vector<std::pair<std::string, NumberFormat>> formats;
  for (const NumberFormat format : {NumberFormat::float32, NumberFormat::bfloat16, NumberFormat::float16})
    formats.emplace_back(name_of(format), format);
  fields.add_choice("gradients", gradients, formats, "as they come, and as dense means send them");
}

void CommonOptions::validate(std::string_view owner) const {
  learning_rate.validate(owner);
  for (const ParameterGroup& group : groups) group.validate(owner);
}

double CommonOptions::first_correction(std::int64_t step) const {
  return bias_correction ? 1.0 - std::pow(beta1, static_cast<double>(step)) : 1.0;
}

double CommonOptions::second_correction(std::int64_t step) const {
  return bias_correction ? 1.0 - std::pow(beta2, static_cast<double>(step)) : 1.0;
}

void CodecOptions::describe(OptionFields& fields) {
  fields.add("block", block, Range::at_least(0), "elements that share a scale (0: one scale per chunk)");
  fields.add_choice<SignScale>("scale", scale, {{"rms", SignScale::rms}, {"mean_abs", SignScale::mean_abs}},
                               "of 1-bit codes");
  describe_code(fields, code, codes);
}

void CodecOptions::validate(std::string_view owner) const {
  require_option(code == SignQuantiser::name || scale == SignScale::rms, owner,
                 "option 'scale' is for 1-bit codes: leave it out, or set code = \"sign\"");
}

void describe_code(OptionFields& fields, std::string& code, const std::vector<std::string>& codes) {
  fields.add_choice("code", code, codes, "of each element");
  std::vector<std::pair<std::int64_t, std::string>> meanings;
  for (const std::string& name : codes) {
    const std::int64_t bits = code_bits(name);
    const bool is_new = std::none_of(meanings.begin(), meanings.end(),
                                     [&](const auto& meaning) { return meaning.first == bits; });
    if (is_new) meanings.emplace_back(bits, name);
  }
  fields.add_alias("bits", "code", code, meanings, "per element, in place of code");
}

}  // namespace kadam
