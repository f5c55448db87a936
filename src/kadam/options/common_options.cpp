// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/execution.hpp>
#include <kadam/kernels/bfloat16_errors.hpp>
#include <kadam/options/common_options.hpp>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace kadam {
namespace {

std::vector<std::pair<std::string, NumberFormat>> formats(std::initializer_list<NumberFormat> all) {
  std::vector<std::pair<std::string, NumberFormat>> words;
  for (const NumberFormat format : all) words.emplace_back(name_of(format), format);
  return words;
}

}  // namespace

void LearningRate::describe(OptionFields& fields) {
  fields.add("lr", lr, Range::at_least(0.0), "learning rate, or a list with one entry per step");
  fields.add_choice("lr_schedule", lr_schedule, {"constant", "cosine", "steps"}, "how lr falls");
  fields.add("lr_warmup_steps", lr_warmup_steps, Range::at_least(0), "steps of linear warm-up from 0");
  fields.add("lr_total_steps", lr_total_steps, Range::at_least(0),
             "cosine: step at which lr reaches its final fraction");
  fields.add("lr_final_fraction", lr_final_fraction, Range::at_least(0.0).up_to(1.0),
             "cosine: fraction of lr that is left at the end");
  fields.add("lr_decay", lr_decay, Range::at_least(0.0), "steps: factor on lr at each decay");
  fields.add("lr_decay_every", lr_decay_every, Range::at_least(0), "steps: number of steps between decays");
}

void LearningRate::validate(std::string_view owner) const {
  require_option(!lr.empty(), owner, "option 'lr' is an empty list: give a number or one entry per step");
  require_option(lr.size() == 1 || (lr_schedule == "constant" && lr_warmup_steps == 0), owner,
                 "'lr' is a list, one entry per step: leave out lr_schedule and lr_warmup_steps");
  require_option(lr_schedule != "cosine" || lr_total_steps > lr_warmup_steps, owner,
                 "lr_schedule = \"cosine\" needs lr_total_steps above lr_warmup_steps");
  require_option(lr_schedule != "steps" || lr_decay_every > 0, owner,
                 "lr_schedule = \"steps\" needs lr_decay_every > 0");
}

double LearningRate::at(std::int64_t step) const {
  if (lr.size() > 1) {
    if (step < 1 || step > static_cast<std::int64_t>(lr.size())) {
      throw std::out_of_range("kadam::LearningRate: the list 'lr' has " + std::to_string(lr.size()) +
                              " entries, and step " + std::to_string(step) +
                              " has none: give one entry per step");
    }
    return lr[static_cast<std::size_t>(step - 1)];
  }
  const double base = lr.front();
  if (step <= lr_warmup_steps) return base * static_cast<double>(step) / static_cast<double>(lr_warmup_steps);
  if (lr_schedule == "steps") {
    const std::int64_t decays = (step - 1) / lr_decay_every;
    return base * std::pow(lr_decay, static_cast<double>(decays));
  }
  if (lr_schedule == "cosine") {
    const double progress = std::min(1.0, static_cast<double>(step - lr_warmup_steps) /
                                              static_cast<double>(lr_total_steps - lr_warmup_steps));
    const double fraction = 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
    return base * (lr_final_fraction + (1.0 - lr_final_fraction) * fraction);
  }
  return base;
}

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
  fields.add_choice("gradients", gradients,
                    formats({NumberFormat::float32, NumberFormat::bfloat16, NumberFormat::float16}),
                    "format in which the optimizer gets gradients and sends dense means of them");
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
                               "scale of each block in 1-bit codes");
  describe_code(fields, code, codes);
  if (!can_shorten_errors) return;
  fields.add_choice("errors", errors, formats({NumberFormat::float32, NumberFormat::bfloat16}),
                    "format in which ranks keep their errors; bf16 is rounded stochastically");
}

void CodecOptions::validate(std::string_view owner) const {
  require_option(code == SignQuantiser::name || scale == SignScale::rms, owner,
                 "option 'scale' is for 1-bit codes: leave it out, or set code = \"sign\"");
  constexpr std::int64_t longest = Bfloat16Errors<MemorySpace>::longest_block;
  require_option(errors == NumberFormat::float32 || (block > 0 && block <= longest), owner,
                 "option 'errors': bf16 needs blocks of 1 to " + std::to_string(longest) +
                     " elements: set block, or leave errors out");
}

void describe_code(OptionFields& fields, std::string& code, const std::vector<std::string>& codes) {
  fields.add_choice("code", code, codes, "code of each element");
  std::vector<std::pair<std::int64_t, std::string>> meanings;
  for (const std::string& name : code_names()) {
    if (std::find(codes.begin(), codes.end(), name) == codes.end()) continue;
    const std::int64_t bits = code_bits(name);
    const bool is_new = std::none_of(meanings.begin(), meanings.end(),
                                     [&](const auto& meaning) { return meaning.first == bits; });
    if (is_new) meanings.emplace_back(bits, name);
  }
  fields.add_alias("bits", "code", code, meanings, "bits per element, another way to set code");
}

}  // namespace kadam
