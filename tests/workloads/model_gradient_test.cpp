// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/gradient_check.hpp>
#include <workloads/model_fixture.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace kadam::test::model_gradient_test {
namespace {

workloads::ModelOptions mlp(std::vector<std::int64_t> hidden, const std::string& activation) {
  workloads::ModelOptions options;
  options.mlp = {std::move(hidden), activation};
  return options;
}

workloads::ModelOptions cnn(std::int64_t first, std::int64_t second) {
  workloads::ModelOptions options;
  options.kind = "cnn";
  options.cnn = {first, second};
  return options;
}

workloads::ModelOptions transformer(std::int64_t width, std::int64_t depth, std::int64_t heads) {
  workloads::ModelOptions options;
  options.kind = "transformer";
  options.transformer = {width, depth, heads};
  return options;
}

workloads::ModelOptions vit(std::int64_t patch, std::int64_t width, std::int64_t depth, std::int64_t heads) {
  workloads::ModelOptions options;
  options.kind = "vit";
  options.transformer = {width, depth, heads};
  options.vit = {patch};
  return options;
}

/// Small enough for each partial derivative.
std::vector<ModelCase> small_cases() {
  return {
      {"NoHiddenLayer", mlp({}, "relu"), {1, 3, 5, 0, 4}, 3},
      {"ReluMlp", mlp({9, 7}, "relu"), {1, 4, 4, 0, 5}, 6},
      {"GeluMlp", mlp({33}, "gelu"), {2, 3, 2, 0, 3}, 4},
      {"Cnn", cnn(3, 9), {1, 8, 8, 0, 4}, 2},
      {"CnnOddColour", cnn(8, 2), {3, 5, 7, 0, 3}, 3},
      {"Transformer", transformer(8, 2, 2), {0, 0, 0, 5, 11}, 3},
      {"TransformerOneToken", transformer(6, 1, 1), {0, 0, 0, 1, 7}, 4},
      {"MaskedTransformer", transformer(8, 2, 2), {0, 0, 0, 6, 11, 2, 0}, 3},
      {"MaskedTransformerAllHidden", transformer(6, 1, 1), {0, 0, 0, 3, 5, 3, 0}, 4},
      {"Vit", vit(2, 8, 2, 2), {1, 4, 6, 0, 5}, 3},
      {"VitColourOnePixelPatches", vit(1, 6, 1, 2), {3, 3, 2, 0, 4}, 4},
      {"VitOnePatch", vit(4, 6, 1, 1), {2, 4, 4, 0, 3}, 5},
      {"VitSegmentation", vit(2, 8, 1, 2), {2, 6, 4, 0, 4, 0, 2}, 3},
  };
}

/// Large enough for every blocked loop; one direction per tensor and its gradient.
std::vector<ModelCase> large_cases() {
  return {
      {"Mlp", mlp({64, 40}, "gelu"), {1, 28, 28, 0, 10}, 33},
      {"Cnn", cnn(16, 40), {3, 16, 12, 0, 10}, 3},
      {"Transformer", transformer(48, 2, 2), {0, 0, 0, 37, 64}, 2},
      {"TransformerOneHead", transformer(40, 1, 1), {0, 0, 0, 64, 64}, 1},
      {"MaskedTransformer", transformer(48, 2, 2), {0, 0, 0, 37, 64, 6, 0}, 2},
      {"Vit", vit(4, 48, 2, 3), {3, 16, 28, 0, 10}, 3},
      {"VitSegmentation", vit(4, 32, 2, 4), {1, 28, 28, 0, 11, 0, 4}, 2},
  };
}

std::string case_name(const testing::TestParamInfo<ModelCase>& info) {
  return info.param.name;
}

class SmallModelGradient : public testing::TestWithParam<ModelCase> {};
class LargeModelGradient : public testing::TestWithParam<ModelCase> {};

TEST_P(SmallModelGradient, EqualsEachPartialDerivativeOfTheReference) {
  TestModel test(GetParam());
  std::vector<float> gradient;
  const double loss = test.loss_and_gradient(gradient);
  const auto reference = [&](const std::vector<double>& x) { return test.reference_loss(x); };
  EXPECT_NEAR(loss, reference(test.exact_parameters()), 1e-5 * loss);

  const std::vector<double> expected = numeric_gradient(reference, test.exact_parameters());
  EXPECT_EQ(first_mismatch(test.model->tensors(), gradient, expected), "");
}

TEST_P(SmallModelGradient, CheckNoticesOnePerCentInAnyTensor) {
  TestModel test(GetParam());
  std::vector<float> gradient;
  test.loss_and_gradient(gradient);
  const std::vector<double> expected(gradient.begin(), gradient.end());
  for (const Tensor& tensor : test.model->tensors().tensors()) {
    std::vector<float> wrong = gradient;
    for (std::int64_t i = tensor.begin; i < tensor.end; ++i) {
      wrong[static_cast<std::size_t>(i)] *= 1.01f;
    }
    EXPECT_EQ(first_mismatch(test.model->tensors(), wrong, expected).rfind(tensor.name + "[", 0), 0U);
  }
}

TEST_P(LargeModelGradient, EqualsDirectionalDerivativesWithinEachTensor) {
  TestModel test(GetParam());
  std::vector<float> gradient;
  const double loss = test.loss_and_gradient(gradient);
  const auto reference = [&](const std::vector<double>& x) { return test.reference_loss(x); };
  const std::vector<double> x = test.exact_parameters();
  EXPECT_NEAR(loss, reference(x), 1e-5 * loss);

  for (const Tensor& tensor : test.model->tensors().tensors()) {
    double norm = 0.0;
    for (std::int64_t i = tensor.begin; i < tensor.end; ++i) {
      norm += std::pow(static_cast<double>(gradient[static_cast<std::size_t>(i)]), 2);
    }
    norm = std::sqrt(norm);
    ASSERT_GT(norm, 0.0) << tensor.name;
    // Half along the gradient, so that a wrong size shows, half anywhere, so that a wrong direction does.
    std::vector<double> direction(x.size(), 0.0);
    double product = 0.0;
    for (std::int64_t i = tensor.begin; i < tensor.end; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double own = static_cast<double>(gradient[at]);
      direction[at] =
          own / norm + workloads::random_normal(99, at) / std::sqrt(static_cast<double>(tensor.elements()));
      product += direction[at] * own;
    }
    EXPECT_NEAR(product, directional_derivative(reference, x, direction), 1e-4 * norm) << tensor.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, SmallModelGradient, testing::ValuesIn(small_cases()), case_name);
INSTANTIATE_TEST_SUITE_P(Models, LargeModelGradient, testing::ValuesIn(large_cases()), case_name);

}  // namespace
}  // namespace kadam::test::model_gradient_test
