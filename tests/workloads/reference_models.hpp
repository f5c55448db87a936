// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <kadam/layout/tensor_layout.hpp>
#include <workloads/make_model.hpp>
#include <workloads/reference_layers.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

/// The losses of the models, serial and in double precision.
namespace kadam::test::reference {

/// A batch on the host, in double precision.
struct HostBatch {
  std::size_t examples = 0;
  std::vector<double> images;
  std::vector<int> tokens;
  std::vector<int> positions;
  std::vector<int> targets;
};

/// Parameters by tensor name.
class Parameters {
 public:
  Parameters(const TensorLayout& layout, const std::vector<double>& values) : values_(values) {
    for (const Tensor& tensor : layout.tensors()) {
      begin_[tensor.name] = static_cast<std::size_t>(tensor.begin);
    }
  }
  const double* operator[](const std::string& name) const { return values_.data() + begin_.at(name); }
  Array linear(const Array& x, const std::string& name, std::size_t outputs) const {
    return reference::linear(x, (*this)[name + ".weight"], (*this)[name + ".bias"], outputs);
  }
  Array layer_norm(const Array& x, const std::string& name) const {
    return reference::layer_norm(x, (*this)[name + ".weight"], (*this)[name + ".bias"]);
  }

 private:
  const std::vector<double>& values_;
  std::map<std::string, std::size_t> begin_;
};

inline double mlp_loss(const workloads::MlpOptions& options, const workloads::DataShape& shape,
                       const Parameters& parameters, const HostBatch& batch) {
  Array x(batch.examples, static_cast<std::size_t>(shape.pixels()));
  x.values = batch.images;
  std::size_t layer = 0;
  for (const std::int64_t width : options.hidden) {
    x = parameters.linear(x, "layers." + std::to_string(layer++), static_cast<std::size_t>(width));
    x = options.activation == "gelu" ? gelu(x) : relu(x);
  }
  x = parameters.linear(x, "layers." + std::to_string(layer), static_cast<std::size_t>(shape.classes));
  return cross_entropy(x, batch.targets);
}

inline double cnn_loss(const workloads::CnnOptions& options, const workloads::DataShape& shape,
                       const Parameters& parameters, const HostBatch& batch) {
  auto height = static_cast<std::size_t>(shape.height);
  auto width = static_cast<std::size_t>(shape.width);
  const auto channels = static_cast<std::size_t>(shape.channels);
  Array x(batch.examples * height * width, channels);
  for (std::size_t i = 0; i < batch.images.size(); ++i) {
    const std::size_t plane = height * width;
    x(i / (channels * plane) * plane + i % plane, i / plane % channels) = batch.images[i];
  }
  const std::int64_t outputs[] = {options.first_channels, options.second_channels};
  for (std::size_t stage = 0; stage < 2; ++stage) {
    const std::string name = "convolution." + std::to_string(stage);
    x = convolution(x, height, width, parameters[name + ".weight"], parameters[name + ".bias"],
                    static_cast<std::size_t>(outputs[stage]));
    x = max_pool(relu(x), height, width);
    height /= 2;
    width /= 2;
  }
  Array flat(batch.examples, x.values.size() / batch.examples);
  flat.values = x.values;
  return cross_entropy(parameters.linear(flat, "output", static_cast<std::size_t>(shape.classes)),
                       batch.targets);
}

/// Blocks of a transformer, the last norm not yet applied.
inline Array encoder(const workloads::TransformerOptions& options, const Parameters& parameters, Array x,
                     std::size_t positions, bool causal) {
  const auto width = static_cast<std::size_t>(options.width);
  const auto heads = static_cast<std::size_t>(options.heads);
  for (std::size_t r = 0; r < x.rows; ++r) {
    for (std::size_t i = 0; i < width; ++i) {
      x(r, i) += parameters["position_embedding.weight"][r % positions * width + i];
    }
  }
  for (std::int64_t block = 0; block < options.depth; ++block) {
    const std::string name = "blocks." + std::to_string(block);
    Array y = parameters.linear(parameters.layer_norm(x, name + ".attention_norm"), name + ".attention.qkv",
                                3 * width);
    y = attention({x.rows / positions, positions, heads, width / heads, causal}, y);
    x = sum(x, parameters.linear(y, name + ".attention.projection", width));
    y = parameters.linear(parameters.layer_norm(x, name + ".mlp_norm"), name + ".mlp.hidden", 4 * width);
    x = sum(x, parameters.linear(gelu(y), name + ".mlp.projection", width));
  }
  return x;
}

inline Array output(const Parameters& parameters, const Array& x, std::int64_t classes) {
  return parameters.linear(parameters.layer_norm(x, "output_norm"), "output",
                           static_cast<std::size_t>(classes));
}

inline double transformer_loss(const workloads::TransformerOptions& options,
                               const workloads::DataShape& shape, const Parameters& parameters,
                               const HostBatch& batch) {
  const auto width = static_cast<std::size_t>(options.width);
  Array x(batch.tokens.size(), width);
  for (std::size_t r = 0; r < x.rows; ++r) {
    const double* const token =
        parameters["token_embedding.weight"] + static_cast<std::size_t>(batch.tokens[r]) * width;
    std::copy_n(token, width, &x(r, 0));
  }
  x = encoder(options, parameters, x, static_cast<std::size_t>(shape.context), shape.masked == 0);
  // All positions are predicted; the ones that nobody asks for do not count.
  std::vector<int> targets = batch.targets;
  if (shape.masked > 0) {
    targets.assign(batch.tokens.size(), -1);
    for (std::size_t i = 0; i < batch.positions.size(); ++i) {
      targets[static_cast<std::size_t>(batch.positions[i])] = batch.targets[i];
    }
  }
  return cross_entropy(output(parameters, x, shape.classes), targets);
}

/// Row after row of patches; in each [channel][line][column].
inline Array patches(const workloads::DataShape& shape, std::size_t side, const std::vector<double>& images) {
  const auto height = static_cast<std::size_t>(shape.height);
  const auto width = static_cast<std::size_t>(shape.width);
  const auto channels = static_cast<std::size_t>(shape.channels);
  const std::size_t pixels = channels * height * width;
  const std::size_t per_image = height * width / (side * side);
  Array p(images.size() / pixels * per_image, channels * side * side);
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::size_t x = i % width;
    const std::size_t y = i / width % height;
    const std::size_t channel = i % pixels / (height * width);
    p(i / pixels * per_image + y / side * (width / side) + x / side,
      (channel * side + y % side) * side + x % side) = images[i];
  }
  return p;
}

inline double vit_loss(const workloads::ModelOptions& options, const workloads::DataShape& shape,
                       const Parameters& parameters, const HostBatch& batch) {
  const auto width = static_cast<std::size_t>(options.transformer.width);
  const Array pixels = patches(shape, static_cast<std::size_t>(options.vit.patch), batch.images);
  const std::size_t positions = pixels.rows / batch.examples;
  const Array x = encoder(options.transformer, parameters,
                          parameters.linear(pixels, "patch_embedding", width), positions, false);
  if (shape.patch > 0) {
    return cross_entropy(output(parameters, x, shape.classes), batch.targets);
  }
  Array mean(batch.examples, width);
  for (std::size_t r = 0; r < x.rows; ++r) {
    for (std::size_t i = 0; i < width; ++i) {
      mean(r / positions, i) += x(r, i) / static_cast<double>(positions);
    }
  }
  return cross_entropy(output(parameters, mean, shape.classes), batch.targets);
}

/// The loss of whichever model the options name.
inline double model_loss(const workloads::ModelOptions& options, const workloads::DataShape& shape,
                         const TensorLayout& layout, const std::vector<double>& values,
                         const HostBatch& batch) {
  const Parameters parameters(layout, values);
  if (options.kind == "mlp") {
    return mlp_loss(options.mlp, shape, parameters, batch);
  }
  if (options.kind == "cnn") {
    return cnn_loss(options.cnn, shape, parameters, batch);
  }
  if (options.kind == "vit") {
    return vit_loss(options, shape, parameters, batch);
  }
  return transformer_loss(options.transformer, shape, parameters, batch);
}

}  // namespace kadam::test::reference
