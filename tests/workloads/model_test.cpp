// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/model_fixture.hpp>

#include <Kokkos_Core.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace kadam::test::model_test {
namespace {

std::vector<ModelCase> cases() {
  ModelCase mlp{"Mlp", {}, {1, 28, 28, 0, 10}, 32};
  ModelCase cnn{"Cnn", {}, {1, 28, 28, 0, 10}, 8};
  cnn.options.kind = "cnn";
  ModelCase transformer{"Transformer", {}, {0, 0, 0, 64, 256}, 4};
  transformer.options.kind = "transformer";
  ModelCase masked{"MaskedTransformer", transformer.options, {0, 0, 0, 64, 256, 10, 0}, 4};
  ModelCase vit{"Vit", {}, {1, 28, 28, 0, 10}, 8};
  vit.options.kind = "vit";
  ModelCase segmentation{"VitSegmentation", vit.options, {1, 28, 28, 0, 11, 0, 4}, 2};
  return {mlp, cnn, transformer, masked, vit, segmentation};
}

class ModelTest : public testing::TestWithParam<ModelCase> {};

TEST_P(ModelTest, RepeatsBitByBit) {
  std::vector<float> first;
  std::vector<float> second;
  TestModel a(GetParam());
  const double loss = a.loss_and_gradient(first);
  for (int run = 0; run < 3; ++run) {
    TestModel b(GetParam());
    EXPECT_EQ(b.loss_and_gradient(second), loss);
    EXPECT_EQ(second, first);
    EXPECT_EQ(a.loss_and_gradient(second), loss);
    EXPECT_EQ(second, first);
  }
}

TEST_P(ModelTest, DoesNotDependOnTheBatchBefore) {
  std::vector<float> expected;
  std::vector<float> gradient;
  TestModel test(GetParam());
  const double loss = test.loss_and_gradient(expected);
  const TestBatch larger(GetParam().shape, GetParam().examples + 3, 1);
  test.model->evaluate(ExecutionSpace(), to_device(test.parameters), larger.device);
  EXPECT_EQ(test.loss_and_gradient(gradient), loss);
  EXPECT_EQ(gradient, expected);
}

TEST_P(ModelTest, EvaluationIsTheLossTimesTheCount) {
  TestModel test(GetParam());
  std::vector<float> gradient;
  const double loss = test.loss_and_gradient(gradient);
  const auto evaluation =
      test.model->evaluate(ExecutionSpace(), to_device(test.parameters), test.batch.device);
  EXPECT_EQ(evaluation.count, static_cast<std::int64_t>(test.batch.host.targets.size()));
  EXPECT_NEAR(evaluation.loss_sum, loss * static_cast<double>(evaluation.count), 1e-9 * evaluation.loss_sum);
  EXPECT_GE(evaluation.correct, 0);
  EXPECT_LT(evaluation.correct, evaluation.count);
}

TEST_P(ModelTest, InitialLossIsNearThatOfAGuess) {
  TestModel test(GetParam());
  HostVector<float> parameters("parameters", test.parameters.size());
  test.model->initialise(parameters, 3);
  const Vector<float> device("device", test.parameters.size());
  Kokkos::deep_copy(device, parameters);
  const auto evaluation = test.model->evaluate(ExecutionSpace(), device, test.batch.device);
  const double loss = evaluation.loss_sum / static_cast<double>(evaluation.count);
  EXPECT_NEAR(loss, std::log(static_cast<double>(GetParam().shape.classes)), 1.5);
}

TEST_P(ModelTest, DescendsAlongItsGradient) {
  TestModel test(GetParam());
  std::vector<float> gradient;
  const double before = test.loss_and_gradient(gradient);
  double loss = before;
  for (int step = 0; step < 30; ++step) {
    double square = 0.0;
    for (const float g : gradient) {
      square += static_cast<double>(g) * static_cast<double>(g);
    }
    const auto rate = static_cast<float>(0.05 * loss / square);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      test.parameters[i] -= rate * gradient[i];
    }
    loss = test.loss_and_gradient(gradient);
  }
  EXPECT_LT(loss, 0.6 * before);
}

TEST_P(ModelTest, NaNParametersGiveNaNLoss) {
  TestModel test(GetParam());
  test.parameters.back() = std::nanf("");
  std::vector<float> gradient;
  EXPECT_TRUE(std::isnan(test.loss_and_gradient(gradient)));
}

TEST_P(ModelTest, TellsWhatIsFinalFromTheBackToTheFront) {
  TestModel test(GetParam());
  std::vector<float> expected;
  const double loss = test.loss_and_gradient(expected);
  constexpr float unwritten = -1e30f;
  const Vector<float> gradient("gradient", expected.size());
  Kokkos::deep_copy(gradient, unwritten);
  const ExecutionSpace exec;
  std::size_t front = expected.size();
  std::size_t calls = 0;
  const auto ready = [&](ElementRange range) {
    exec.fence("kadam::test: the gradient of a range");
    const std::vector<float> now = to_host(gradient);
    const auto begin = static_cast<std::size_t>(range.begin);
    ASSERT_LT(range.begin, range.end);
    ASSERT_EQ(static_cast<std::size_t>(range.end), front);
    for (std::size_t i = begin; i < front; ++i) {
      ASSERT_EQ(now[i], expected[i]) << "element " << i;
    }
    EXPECT_EQ(now[0] == unwritten, range.begin > 0);
    front = begin;
    ++calls;
  };
  EXPECT_EQ(
      test.model->loss_and_gradient(exec, to_device(test.parameters), test.batch.device, gradient, ready),
      loss);
  EXPECT_EQ(front, 0U);
  EXPECT_EQ(to_host(gradient), expected);
  // No layer waits for another: each has at most two tensors.
  EXPECT_GE(2 * calls, test.model->tensors().tensors().size());
}

int allocations = 0;
std::vector<std::string> foreign_labels;

TEST_P(ModelTest, AllocatesNothingAfterTheFirstCallAndLabelsItsKernels) {
  TestModel test(GetParam());
  const Vector<const float> parameters = to_device(test.parameters);
  const Vector<float> gradient("gradient", parameters.extent(0));
  const ExecutionSpace exec;
  test.model->loss_and_gradient(exec, parameters, test.batch.device, gradient);
  namespace Tools = Kokkos::Tools::Experimental;
  const auto previous = Tools::get_callbacks();
  allocations = 0;
  foreign_labels.clear();
  Tools::set_allocate_data_callback(
      [](Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t) { ++allocations; });
  Tools::set_begin_parallel_for_callback([](const char* label, std::uint32_t, std::uint64_t*) {
    if (std::string(label).rfind("kadam::workloads::", 0) != 0 &&
        std::string(label).rfind("Kokkos", 0) != 0) {
      foreign_labels.emplace_back(label);
    }
  });
  test.model->loss_and_gradient(exec, parameters, test.batch.device, gradient);
  test.model->evaluate(exec, parameters, test.batch.device);
  Tools::set_callbacks(previous);
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(foreign_labels, std::vector<std::string>());
}

TEST_P(ModelTest, RefusesWrongSizes) {
  TestModel test(GetParam());
  const Vector<float> gradient("gradient", test.parameters.size());
  const Vector<float> shorter("shorter", test.parameters.size() - 1);
  const ExecutionSpace exec;
  workloads::Model& model = *test.model;
  EXPECT_THROW(model.loss_and_gradient(exec, shorter, test.batch.device, gradient), std::invalid_argument);
  EXPECT_THROW(model.loss_and_gradient(exec, gradient, test.batch.device, shorter), std::invalid_argument);
  workloads::Batch batch = test.batch.device;
  batch.examples += 1;
  EXPECT_THROW(model.evaluate(exec, gradient, batch), std::invalid_argument);
  batch.examples = 0;
  EXPECT_THROW(model.evaluate(exec, gradient, batch), std::invalid_argument);
  EXPECT_THROW(model.initialise(HostVector<float>("short", 1), 0), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Models, ModelTest, testing::ValuesIn(cases()),
                         [](const auto& model_case) { return model_case.param.name; });

}  // namespace
}  // namespace kadam::test::model_test
