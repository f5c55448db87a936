// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gray_scott/random.hpp>
#include <gray_scott/surrogate.hpp>
#include <support/host_views.hpp>
#include <workloads/gradient_check.hpp>
#include <workloads/reference_layers.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kadam::test {
namespace {

using gray_scott::Matrix;
using gray_scott::Surrogate;
using reference::Array;
using Widths = std::vector<std::int64_t>;

constexpr std::int64_t inputs = 18;

void no_announcement(const ElementRange& /*range*/) {}

/// A surrogate with random parameters, inputs and targets, on the device and as doubles. It has room for more
/// examples than it gets.
struct TestSurrogate {
  Widths widths;
  std::int64_t examples;
  ExecutionSpace exec;
  Surrogate surrogate;
  Vector<float> parameters;
  Array x;
  Array targets;

  TestSurrogate(const Widths& widths_, std::int64_t examples_)
      : widths(widths_),
        examples(examples_),
        surrogate(exec, inputs, widths, examples + 3),
        x(static_cast<std::size_t>(examples), static_cast<std::size_t>(inputs)),
        targets(static_cast<std::size_t>(examples), 2) {
    std::vector<float> values(static_cast<std::size_t>(surrogate.tensors().elements()));
    const HostVector<float> host(values.data(), values.size());
    surrogate.initialise(host, 5);
    // Biases and a last layer of some size: nothing is hidden behind a zero.
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] += static_cast<float>(0.1 * gray_scott::random_normal(6, i));
    }
    parameters = to_device(values);
    fill(surrogate.inputs(examples), x, 7);
    fill(surrogate.targets(examples), targets, 8);
  }

  /// The column behind those of `host` is 1.
  static void fill(const Matrix& device, Array& host, std::uint64_t seed) {
    const auto mirror = Kokkos::create_mirror_view(device);
    Kokkos::deep_copy(mirror, 1.0F);
    for (std::size_t i = 0; i < host.values.size(); ++i) {
      const auto value = static_cast<float>(gray_scott::random_normal(seed, i));
      mirror(i / host.columns, i % host.columns) = value;
      host.values[i] = static_cast<double>(value);
    }
    Kokkos::deep_copy(device, mirror);
  }

  /// Weights lie [input][output]; the reference has them [output][input].
  [[nodiscard]] Array reference_outputs(const std::vector<double>& at) const {
    Array y = x;
    std::size_t offset = 0;
    for (std::size_t layer = 0; layer < widths.size(); ++layer) {
      const auto outputs = static_cast<std::size_t>(widths[layer]);
      std::vector<double> weight(y.columns * outputs);
      for (std::size_t i = 0; i < weight.size(); ++i) {
        weight[i] = at[offset + i % y.columns * outputs + i / y.columns];
      }
      const double* const bias = at.data() + offset + weight.size();
      offset += weight.size() + outputs;
      y = reference::linear(y, weight.data(), bias, outputs);
      if (layer + 1 < widths.size()) y = reference::gelu(y);
    }
    return y;
  }

  [[nodiscard]] double reference_loss(const std::vector<double>& at) const {
    const Array y = reference_outputs(at);
    double sum = 0.0;
    for (std::size_t i = 0; i < y.values.size(); ++i) sum += std::pow(y.values[i] - targets.values[i], 2);
    return sum / static_cast<double>(y.values.size());
  }
};

class SurrogateGradient : public testing::TestWithParam<Widths> {};

TEST_P(SurrogateGradient, EqualsFiniteDifferencesOfTheReference) {
  TestSurrogate test(GetParam(), 5);
  const std::vector<float> own = to_host(test.parameters);
  const std::vector<double> at(own.begin(), own.end());
  const Vector<float> gradient("gradient", own.size());
  const double loss =
      test.surrogate.loss_and_gradient(test.exec, test.parameters, gradient, 5, no_announcement);
  EXPECT_NEAR(loss, test.reference_loss(at), 1e-5 * loss);
  const auto reference = [&](const std::vector<double>& point) { return test.reference_loss(point); };
  EXPECT_EQ(first_mismatch(test.surrogate.tensors(), to_host(gradient), numeric_gradient(reference, at)), "");
}

TEST_P(SurrogateGradient, PredictsWhatTheReferenceDoes) {
  TestSurrogate test(GetParam(), 5);
  const std::vector<float> own = to_host(test.parameters);
  const auto outputs = test.surrogate.predict(test.exec, test.parameters, 5);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, outputs);
  const Array expected = test.reference_outputs({own.begin(), own.end()});
  for (std::size_t i = 0; i < expected.values.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(host.data()[i]), expected.values[i], 1e-4);
  }
}

INSTANTIATE_TEST_SUITE_P(Surrogates, SurrogateGradient,
                         testing::Values(Widths{2}, Widths{7, 2}, Widths{9, 6, 2}),
                         [](const auto& test) { return std::to_string(test.param.size()) + "Layers"; });

TEST(Surrogate, AnnouncesItsGradientFromTheBackToTheFront) {
  TestSurrogate test({4, 3, 2}, 2);
  const Vector<float> gradient("gradient", static_cast<std::size_t>(test.surrogate.tensors().elements()));
  std::int64_t expected_end = test.surrogate.tensors().elements();
  const auto ready = [&](const ElementRange& range) {
    EXPECT_EQ(range.end, expected_end);
    expected_end = range.begin;
  };
  test.surrogate.loss_and_gradient(test.exec, test.parameters, gradient, 2, ready);
  EXPECT_EQ(expected_end, 0);
}

TEST(Surrogate, HasAsManyParametersAsTheDocumentationSays) {
  EXPECT_EQ(Surrogate({}, 98, {64, 64, 2}, 1).tensors().elements(), 10626);
}

}  // namespace
}  // namespace kadam::test
