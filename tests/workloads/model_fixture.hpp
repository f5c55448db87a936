// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <support/host_views.hpp>
#include <workloads/make_model.hpp>
#include <workloads/random.hpp>
#include <workloads/reference_models.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace kadam::test {

struct ModelCase {
  std::string name;
  workloads::ModelOptions options;
  workloads::DataShape shape;
  std::int64_t examples = 1;
};

inline std::vector<float> random_floats(std::size_t n, std::uint64_t seed, double deviation) {
  std::vector<float> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    values[i] = static_cast<float>(deviation * workloads::random_normal(seed, i));
  }
  return values;
}

inline std::vector<int> random_integers(std::size_t n, std::uint64_t seed, std::int64_t bound) {
  std::vector<int> values(n);
  std::uint64_t counter = 0;
  for (int& value : values) {
    value = static_cast<int>(workloads::random_below(seed, counter, static_cast<std::uint64_t>(bound)));
  }
  return values;
}

/// A random batch, on the host and on the device.
struct TestBatch {
  reference::HostBatch host;
  workloads::Batch device;

  TestBatch(const workloads::DataShape& shape, std::int64_t examples, std::uint64_t seed) {
    host.examples = static_cast<std::size_t>(examples);
    host.targets =
        random_integers(static_cast<std::size_t>(examples * shape.predictions()), seed, shape.classes);
    device.examples = examples;
    device.targets = to_device(std::vector<std::int32_t>(host.targets.begin(), host.targets.end()));
    if (shape.is_text()) {
      const auto tokens = static_cast<std::size_t>(examples * shape.context);
      host.tokens = random_integers(tokens, seed + 1, shape.vocabulary());
      for (std::int64_t i = 0; i < examples * shape.masked; ++i) {
        const std::int64_t place = i % shape.masked * shape.context / shape.masked;
        host.positions.push_back(static_cast<int>(i / shape.masked * shape.context + place));
      }
      device.positions = to_device(std::vector<std::int32_t>(host.positions.begin(), host.positions.end()));
      device.tokens = to_device(std::vector<std::int32_t>(host.tokens.begin(), host.tokens.end()));
    } else {
      const auto images = random_floats(static_cast<std::size_t>(examples * shape.pixels()), seed + 2, 0.5);
      host.images.assign(images.begin(), images.end());
      device.images = to_device(images);
    }
  }
};

/// A model with parameters away from their special initial values (zeros, ones), and a batch for it.
struct TestModel {
  ModelCase model_case;
  std::unique_ptr<workloads::Model> model;
  std::vector<float> parameters;
  TestBatch batch;

  explicit TestModel(const ModelCase& which, std::uint64_t seed = 7)
      : model_case(which),
        model(workloads::make_model(which.options, which.shape)),
        batch(which.shape, which.examples, seed) {
    const auto d = static_cast<std::size_t>(model->tensors().elements());
    HostVector<float> initial("initial", d);
    model->initialise(initial, seed);
    parameters = random_floats(d, seed + 3, 0.1);
    for (std::size_t i = 0; i < d; ++i) {
      parameters[i] += initial(i);
    }
  }

  double loss_and_gradient(std::vector<float>& gradient) {
    const Vector<float> device_gradient("gradient", parameters.size());
    Kokkos::deep_copy(device_gradient, -1e30f);  // whatever is not written shows
    const double loss =
        model->loss_and_gradient(ExecutionSpace(), to_device(parameters), batch.device, device_gradient);
    gradient = to_host(device_gradient);
    return loss;
  }

  [[nodiscard]] double reference_loss(const std::vector<double>& values) const {
    return reference::model_loss(model_case.options, model_case.shape, model->tensors(), values, batch.host);
  }

  [[nodiscard]] std::vector<double> exact_parameters() const {
    return {parameters.begin(), parameters.end()};
  }
};

}  // namespace kadam::test
