// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <configuration/keys.hpp>
#include <kadam/optim/optimizer_names.hpp>
#include <train/configuration.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

namespace kadam::train {
namespace {

/// Of several algorithms, some know the option and this one does not: says where to put it.
void require_known_by_all(const std::string& option, const std::string& algorithm,
                          const std::vector<std::string>& algorithms) {
  if (has_option(algorithm, option)) return;
  std::vector<std::string> keys;
  for (const std::string& other : algorithms) {
    if (has_option(other, option)) keys.push_back(fmt::format("optimizer.{}.{}", other, option));
  }
  if (keys.empty()) return;  // unknown to all: make_optimizer lists what exists
  throw std::runtime_error(fmt::format("'optimizer.{}': {} has no such option: set {} instead", option,
                                       algorithm, fmt::join(keys, ", ")));
}

std::string expand_home(const std::string& path) {
  const char* home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
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
  fields.add("data.kind", data.kind, "format: idx (as in MNIST), cifar10 or text (any file)");
  fields.add("data.path", data.path,
             "folder (idx, cifar10) or file (text); empty with idx: Debian's Fashion-MNIST");
  fields.add("data.context", data.text.context, "text: bytes per example");
  fields.add("data.held_out_fraction", data.text.held_out_fraction,
             "text: fraction at the end of the file that is kept for evaluations");
  fields.add("data.objective", data.text.objective,
             "text: causal (predict the next byte) or masked (predict hidden bytes)");
  fields.add("data.mask_fraction", data.text.mask_fraction,
             "masked: fraction of the bytes that the model predicts");
  fields.add("data.task", data.task,
             "images: classify, or segment (predict a class for each patch; only with idx)");
  fields.add("data.patch", data.patch, "segment: side of a patch, in pixels");
  fields.add(
      "data.dirichlet_alpha", data.dirichlet_alpha,
      "images: above 0, ranks get different classes, the more so the smaller it is (0: no difference)");
  fields.add("model.kind", model.kind, "mlp, cnn, vit or transformer");
  fields.add("model.hidden", model.mlp.hidden, Range::any(), "mlp: widths of the hidden layers");
  fields.add("model.activation", model.mlp.activation, "mlp: relu or gelu");
  fields.add("model.first_channels", model.cnn.first_channels, "cnn: outputs of the first convolution");
  fields.add("model.second_channels", model.cnn.second_channels, "cnn: outputs of the second convolution");
  fields.add("model.width", model.transformer.width, "transformer, vit: width of a position's vector");
  fields.add("model.depth", model.transformer.depth, "transformer, vit: number of blocks");
  fields.add("model.heads", model.transformer.heads, "transformer, vit: attention heads per block");
  fields.add("model.patch", model.vit.patch, "vit: side of a patch of the image, in pixels");
  fields.add("training.steps", training.steps, "number of optimizer steps");
  fields.add("training.batch", training.batch, "examples per rank and gradient");
  fields.add("training.accumulate", training.accumulate, "gradients that each rank averages for one step");
  fields.add("training.overlap", training.overlap,
             "send dense gradients while they are computed (no effect with accumulate above 1)");
  fields.add("training.seed", training.seed, "seed of the initial parameters and of the order of examples");
  fields.add("training.log_every", training.log_every, "steps per line of metrics");
  fields.add("training.evaluate_every", training.evaluate_every,
             "steps between evaluations (0: at the end only)");
  fields.add("training.held_out_examples", training.held_out_examples,
             "held-out examples in an evaluation (0: all)");
}

void Configuration::require_honoured_by(const std::vector<std::string>& algorithms) const {
  for (auto algorithm = algorithms.begin(); algorithm != algorithms.end(); ++algorithm) {
    if (std::find(algorithms.begin(), algorithm, *algorithm) != algorithm) {
      throw std::runtime_error(fmt::format("--compare names '{}' twice", *algorithm));
    }
    for (const auto& [option, value] : optimizer.options) {
      require_known_by_all(option, *algorithm, algorithms);
    }
  }
}

Configuration read_configuration(const std::filesystem::path& file,
                                 const std::vector<std::string>& assignments) {
  const configuration::Keys keys = configuration::read_keys(file, assignments);
  Configuration result;
  OptionFields fields;
  result.describe(fields);
  fields.read("the configuration", keys.general);
  result.optimizer = keys.optimizer;
  result.training.validate();
  result.data.path = expand_home(result.data.path);
  result.data.text.mask_seed = static_cast<std::uint64_t>(result.training.seed);
  result.data.validate();
  result.model.validate();
  return result;
}

std::string to_toml(const Configuration& of) {
  Configuration copy = of;
  OptionFields fields;
  copy.describe(fields);
  return configuration::toml_text(fields, copy.optimizer);
}

std::string to_toml(const Configuration& of, const std::string& algorithm,
                    const OptionMap& resolved_options) {
  Configuration copy = of;
  copy.optimizer = configuration::resolved(of.optimizer, algorithm, resolved_options);
  return to_toml(copy);
}

}  // namespace kadam::train
