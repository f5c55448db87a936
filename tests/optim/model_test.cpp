// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/gradients.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <limits>

/// What every optimizer does with a model beside the parameters, and with gradients of a format that it does
/// not expect.
namespace kadam::model_test {
namespace {

constexpr std::int64_t d = 3001;
const TensorLayout layout({{"a", 0, 1000}, {"b.bias", 1000, 1100}, {"c", 1100, d}});

class ModelTest : public testing::TestWithParam<std::string> {
 protected:
  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  const ExecutionSpace exec_;
  const Vector<float> parameters_ = test::to_device(test::random_vector(d, 2));

  [[nodiscard]] std::unique_ptr<Optimizer> optimizer(const std::string& format) const {
    OptionMap options = test::options_that_agree(GetParam(), 3);
    options["lr"] = 0.01;
    options["weight_decay"] = 0.1;
    options["gradients"] = format;
    // Some tensor is kept dense, and random gradients leave coordinates without variance.
    return make_optimizer(GetParam(), options, layout, communicator_,
                          {{.tensors = "*.bias", .lr_scale = 0.5, .dense = true}});
  }
  [[nodiscard]] std::vector<float> gradient(std::int64_t t) const {
    return test::random_gradient(d, communicator_->rank(), t);
  }

  template <Number T>
  void run(const std::string& format) const {
    const auto optimizer = this->optimizer(format);
    const Vector<T> model("model", static_cast<std::size_t>(d));
    const Vector<T> evaluated("evaluated", static_cast<std::size_t>(d));
    const Vector<float> consensus("consensus", static_cast<std::size_t>(d));
    for (std::int64_t t = 1; t <= 8; ++t) {
      optimizer->step(exec_, {parameters_, model}, test::to_gradient(format, gradient(t)));
      EXPECT_EQ(test::differs(model, parameters_), 0U) << "step " << t;
      optimizer->write_consensus(exec_, parameters_, {consensus, evaluated});
      EXPECT_EQ(test::differs(evaluated, consensus), 0U) << "step " << t;
    }
    optimizer->flush(exec_, {parameters_, model});
    EXPECT_EQ(test::differs(model, parameters_), 0U) << "flush";
  }
};

TEST_P(ModelTest, IsTheRoundedParametersAfterEveryStep) {
  run<Bfloat16>("float32");
  run<Bfloat16>("bf16");
  run<Float16>("fp16");
}

TEST_P(ModelTest, DoesNotChangeTheParameters) {
  const auto with = optimizer("bf16");
  const auto without = optimizer("bf16");
  const auto other = test::to_device(test::random_vector(d, 2));
  const Vector<Bfloat16> model("model", static_cast<std::size_t>(d));
  for (std::int64_t t = 1; t <= 6; ++t) {
    const Gradient g = test::to_gradient("bf16", gradient(t));
    with->step(exec_, {parameters_, model}, g);
    without->step(exec_, other, g);
  }
  Kokkos::fence();
  EXPECT_EQ(test::to_host(parameters_), test::to_host(other));
}

TEST_P(ModelTest, ASkippedStepLeavesItAlone) {
  for (const std::string format : {"bf16", "fp16"}) {
    const auto optimizer = this->optimizer(format);
    const Vector<Bfloat16> model("model", static_cast<std::size_t>(d));
    auto bad = gradient(1);
    // Rounded, it is infinite in fp16 alone.
    if (communicator_->rank() == communicator_->size() - 1)
      bad[17] = format == "fp16" ? 1e6F : std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(optimizer->step(exec_, {parameters_, model}, test::to_gradient(format, bad)).skipped);
    Kokkos::fence();
    for (const Bfloat16 value : test::to_host(model)) ASSERT_EQ(value.bits, 0);
  }
}

TEST_P(ModelTest, AGradientOfAnotherFormatIsRefusedInWords) {
  const auto optimizer = this->optimizer("bf16");
  try {
    optimizer->step(exec_, parameters_, test::to_device(gradient(1)));
    FAIL() << "accepted a float32 gradient";
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("is float32, the option 'gradients' says bf16"), std::string::npos) << text;
  }
  EXPECT_THROW(optimizer->step(exec_, {parameters_, Vector<Bfloat16>("short", 7)},
                               test::to_gradient("bf16", gradient(1))),
               std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, ModelTest, testing::ValuesIn(optimizer_names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam::model_test
