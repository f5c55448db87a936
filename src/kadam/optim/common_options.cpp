// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/common_options.hpp>

#include <cmath>

namespace kadam {

void CommonOptions::describe(OptionFields& fields) {
  learning_rate.describe(fields);
  fields.add("beta1", beta1, "decay of the first moment");
  fields.add("beta2", beta2, "decay of the second moment");
  fields.add("eps", eps, "added to the root of the second moment");
  fields.add("weight_decay", weight_decay, "decoupled weight decay");
  fields.add("bias_correction", bias_correction, "divide the moments by 1 - beta^t");
  fields.add("clip_norm", clip_norm, "clip gradients to this global norm (0: never)");
  fields.add("dense_below", dense_below, "keep tensors with fewer elements dense (0: none)");
  fields.add("gradients", gradients, "float32, bf16 or fp16: as they come, and as dense means send them");
}

void CommonOptions::validate(std::string_view owner) const {
  learning_rate.validate(owner);
  require_option(beta1 >= 0.0 && beta1 < 1.0, owner, "option 'beta1': expected 0 <= beta1 < 1");
  require_option(beta2 >= 0.0 && beta2 < 1.0, owner, "option 'beta2': expected 0 <= beta2 < 1");
  require_option(std::isfinite(eps) && eps > 0.0, owner, "option 'eps': expected a number > 0");
  require_option(std::isfinite(weight_decay) && weight_decay >= 0.0, owner,
                 "option 'weight_decay': expected a number >= 0");
  require_option(std::isfinite(clip_norm) && clip_norm >= 0.0, owner,
                 "option 'clip_norm': expected a number >= 0 (0: gradients are not clipped)");
  for (const ParameterGroup& group : groups) {
    require_option(std::isfinite(group.lr_scale) && group.lr_scale >= 0.0, owner,
                   "parameter group '" + group.tensors + "': expected lr_scale >= 0");
    require_option(std::isfinite(group.weight_decay.value_or(0.0)) && group.weight_decay.value_or(0.0) >= 0.0,
                   owner, "parameter group '" + group.tensors + "': expected weight_decay >= 0");
  }
  require_option(dense_below >= 0, owner, "option 'dense_below': expected a number of elements >= 0");
}

double CommonOptions::first_correction(std::int64_t step) const {
  return bias_correction ? 1.0 - std::pow(beta1, static_cast<double>(step)) : 1.0;
}

double CommonOptions::second_correction(std::int64_t step) const {
  return bias_correction ? 1.0 - std::pow(beta2, static_cast<double>(step)) : 1.0;
}

void CodecOptions::describe(OptionFields& fields) {
  fields.add("block", block, "elements that share a scale (0: one scale per chunk)");
  fields.add("scale", scale, "of 1-bit codes: rms or mean_abs");
  fields.add("bits", bits, "per element");
}

void CodecOptions::validate(std::string_view owner) const {
  require_option(block >= 0, owner,
                 "option 'block': expected 0 (one scale per chunk) or a number of elements");
  require_option(bits == 1 || bits == 2 || bits == 4 || bits == 8, owner,
                 "option 'bits': expected 1, 2, 4 or 8, got " + std::to_string(bits));
  require_option(bits == 1 || scale == SignScale::rms, owner,
                 "option 'scale' is for 1-bit codes: leave it out, or set bits = 1");
}

AnyQuantiser make_quantiser(const CodecOptions& options) {
  return make_quantiser(static_cast<int>(options.bits), options.scale);
}

}  // namespace kadam
