// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/surrogate.hpp>
#include <kadam/comm/communicator.hpp>
#include <support/host_views.hpp>
#include <workloads/gradient_check.hpp>
#include <workloads/random.hpp>
#include <workloads/reference_layers.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kadam::test {
namespace {

using insitu::Surrogate;
using insitu::SurrogateOptions;
using reference::Array;

/// A surrogate with random parameters, inputs and targets, on the device and as doubles.
struct TestSurrogate {
  SurrogateOptions options;
  std::int64_t examples;
  ExecutionSpace exec;
  Surrogate surrogate;
  Vector<float> parameters;
  Array inputs;
  Array targets;

  TestSurrogate(const SurrogateOptions& options_, std::int64_t examples_)
      : options(options_),
        examples(examples_),
        surrogate(options),
        inputs(static_cast<std::size_t>(examples), static_cast<std::size_t>(options.inputs())),
        targets(static_cast<std::size_t>(examples), 2) {
    std::vector<float> values(static_cast<std::size_t>(surrogate.tensors().elements()));
    const HostVector<float> host(values.data(), values.size());
    surrogate.initialise(host, 5);
    // Biases and a last layer of some size: nothing is hidden behind a zero.
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += static_cast<float>(0.1 * workloads::random_normal(6, i));
    }
    parameters = to_device(values);
    fill(surrogate.batch(exec, examples).inputs, inputs, 7);
    fill(surrogate.batch(exec, examples).targets, targets, 8);
  }

  static void fill(const workloads::Matrix<float>& device, Array& host, std::uint64_t seed) {
    const auto mirror = Kokkos::create_mirror_view(device);
    for (std::size_t i = 0; i < host.values.size(); ++i) {
      mirror.data()[i] = static_cast<float>(workloads::random_normal(seed, i));
      host.values[i] = static_cast<double>(mirror.data()[i]);
    }
    Kokkos::deep_copy(device, mirror);
  }

  [[nodiscard]] Array reference_outputs(const std::vector<double>& x) const {
    Array y = inputs;
    std::size_t offset = 0;
    std::vector<std::int64_t> widths = options.hidden;
    widths.push_back(2);
    for (std::size_t layer = 0; layer < widths.size(); ++layer) {
      const auto outputs = static_cast<std::size_t>(widths[layer]);
      const double* const weight = x.data() + offset;
      const double* const bias = weight + y.columns * outputs;
      offset += (y.columns + 1) * outputs;
      y = reference::linear(y, weight, bias, outputs);
      if (layer + 1 < widths.size())
        y = options.activation == "gelu" ? reference::gelu(y) : reference::relu(y);
    }
    return y;
  }

  [[nodiscard]] double reference_loss(const std::vector<double>& x) const {
    const Array y = reference_outputs(x);
    double sum = 0.0;
    for (std::size_t i = 0; i < y.values.size(); ++i) sum += std::pow(y.values[i] - targets.values[i], 2);
    return sum / static_cast<double>(y.values.size());
  }
};

SurrogateOptions small(std::vector<std::int64_t> hidden, const std::string& activation) {
  SurrogateOptions options;
  options.radius = 1;
  options.hidden = std::move(hidden);
  options.activation = activation;
  return options;
}

class SurrogateGradient : public testing::TestWithParam<SurrogateOptions> {};

TEST_P(SurrogateGradient, EqualsFiniteDifferencesOfTheReference) {
  TestSurrogate test(GetParam(), 5);
  const std::vector<float> own = to_host(test.parameters);
  const std::vector<double> x(own.begin(), own.end());
  const Vector<float> gradient("gradient", own.size());
  const double loss = test.surrogate.loss_and_gradient(test.exec, test.parameters, gradient);
  EXPECT_NEAR(loss, test.reference_loss(x), 1e-5 * loss);
  const auto reference = [&](const std::vector<double>& at) { return test.reference_loss(at); };
  EXPECT_EQ(first_mismatch(test.surrogate.tensors(), to_host(gradient), numeric_gradient(reference, x)), "");
}

TEST_P(SurrogateGradient, PredictsWhatTheReferenceDoes) {
  TestSurrogate test(GetParam(), 5);
  const std::vector<float> own = to_host(test.parameters);
  const auto outputs = test.surrogate.predict(test.exec, test.parameters);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, outputs);
  const Array expected = test.reference_outputs({own.begin(), own.end()});
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(host.data()[i]), expected.values[i], 1e-4);
  }
}

std::string case_name(const testing::TestParamInfo<SurrogateOptions>& info) {
  return std::to_string(info.param.hidden.size()) + "HiddenLayers" + info.param.activation;
}

INSTANTIATE_TEST_SUITE_P(Surrogates, SurrogateGradient,
                         testing::Values(small({}, "relu"), small({7}, "gelu"), small({9, 6}, "relu")),
                         case_name);

TEST(Surrogate, AnnouncesItsGradientFromTheBackToTheFront) {
  TestSurrogate test(small({4, 3}, "gelu"), 2);
  const Vector<float> gradient("gradient", static_cast<std::size_t>(test.surrogate.tensors().elements()));
  std::int64_t expected_end = test.surrogate.tensors().elements();
  const auto ready = [&](const ElementRange& range) {
    EXPECT_EQ(range.end, expected_end);
    expected_end = range.begin;
  };
  test.surrogate.loss_and_gradient(test.exec, test.parameters, gradient, ready);
  EXPECT_EQ(expected_end, 0);
}

TEST(Surrogate, HasAsManyParametersAsTheDocumentationSays) {
  EXPECT_EQ(Surrogate(SurrogateOptions{}).tensors().elements(), 10626);
}

}  // namespace
}  // namespace kadam::test
