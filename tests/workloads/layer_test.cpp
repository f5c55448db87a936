// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/gradient_check.hpp>
#include <workloads/layers/attention.hpp>
#include <workloads/layers/convolution.hpp>
#include <workloads/layers/cross_entropy.hpp>
#include <workloads/layers/exponential.hpp>
#include <workloads/layers/layer_norm.hpp>
#include <workloads/layers/max_pool.hpp>
#include <workloads/matrix.hpp>
#include <workloads/model_fixture.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kadam::test::layer_test {
namespace {

using workloads::Matrix;
using workloads::matrix_at;

/// A device matrix that owns its memory.
struct DeviceMatrix {
  Vector<float> storage;
  std::int64_t rows, columns;

  DeviceMatrix(const std::vector<float>& values, std::size_t rows_, std::size_t columns_)
      : storage(to_device(values)),
        rows(static_cast<std::int64_t>(rows_)),
        columns(static_cast<std::int64_t>(columns_)) {}
  DeviceMatrix(std::size_t rows_, std::size_t columns_)
      : DeviceMatrix(std::vector<float>(rows_ * columns_, -1e30f), rows_, columns_) {}
  [[nodiscard]] Matrix<float> view() const { return matrix_at(storage, 0, rows, columns); }
};

reference::Array exact(const std::vector<float>& values, std::size_t rows, std::size_t columns) {
  reference::Array array(rows, columns);
  array.values.assign(values.begin(), values.end());
  return array;
}

void expect_close(const std::vector<float>& got, const std::vector<double>& want, double tolerance) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], tolerance) << "element " << i;
  }
}

/// Not in the test itself: nvcc refuses device lambdas in its private function.
void write_exponentials(const Vector<float>& result) {
  Kokkos::parallel_for(
      "exponential", Kokkos::RangePolicy<ExecutionSpace>(0, static_cast<std::int64_t>(result.extent(0))),
      KOKKOS_LAMBDA(std::int64_t i) {
        result(static_cast<std::size_t>(i)) = workloads::exponential(static_cast<float>(i - 100'000) * 8e-4f);
      });
}

TEST(Exponential, IsWithinTwoUnitsInTheLastPlace) {
  const std::int64_t n = 200'001;
  const Vector<float> result("result", static_cast<std::size_t>(n));
  write_exponentials(result);
  const std::vector<float> values = to_host(result);
  for (std::int64_t i = 0; i < n; ++i) {
    const double want = std::exp(static_cast<double>(static_cast<float>(i - 100'000) * 8e-4f));
    ASSERT_NEAR(static_cast<double>(values[static_cast<std::size_t>(i)]) / want, 1.0, 2.4e-7);
  }
}

TEST(Exponential, KeepsNaNAndStaysFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(workloads::exponential(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_TRUE(std::isfinite(workloads::exponential(infinity)));
  EXPECT_NEAR(workloads::exponential(-infinity), 0.0f, 1e-37f);
  EXPECT_EQ(workloads::exponential(0.0f), 1.0f);
}

struct AttentionCase {
  reference::Attention shape;
};

class AttentionTest : public testing::TestWithParam<reference::Attention> {
 protected:
  const reference::Attention shape_ = GetParam();
  const std::size_t rows_ = shape_.examples * shape_.positions;
  const std::size_t width_ = shape_.heads * shape_.head_width;
  const std::vector<float> qkv_ = random_floats(rows_ * 3 * width_, 1, 1.0);
  const workloads::AttentionShape device_shape_{
      static_cast<std::int64_t>(shape_.examples), static_cast<std::int64_t>(shape_.positions),
      static_cast<std::int64_t>(shape_.heads), static_cast<std::int64_t>(shape_.head_width), shape_.causal};
  ExecutionSpace exec_;
  workloads::Arena arena_;
  workloads::AttentionTape tape_;
  Matrix<float> scratch_;
  DeviceMatrix input_{qkv_, rows_, 3 * width_};
  DeviceMatrix output_{rows_, width_};

  void SetUp() override {
    arena_.lay_out(exec_, [&](workloads::Arena& arena) {
      tape_ = workloads::AttentionTape(arena, device_shape_);
      scratch_ = arena.matrix(device_shape_.query_rows(), device_shape_.padded_positions());
    });
    workloads::attention_forward(exec_, device_shape_, input_.view(), tape_, output_.view());
  }
};

TEST_P(AttentionTest, ForwardEqualsReference) {
  const reference::Array expected = reference::attention(shape_, exact(qkv_, rows_, 3 * width_));
  expect_close(to_host(output_.storage), expected.values, 2e-6);
}

TEST_P(AttentionTest, BackwardEqualsPartialDerivatives) {
  const std::vector<float> weights = random_floats(rows_ * width_, 2, 1.0);
  const DeviceMatrix doutput(weights, rows_, width_);
  const DeviceMatrix dqkv(rows_, 3 * width_);
  workloads::attention_backward(exec_,
                                {device_shape_, tape_, input_.view(), doutput.view(), scratch_, dqkv.view()});
  const auto weighted_sum = [&](const std::vector<double>& x) {
    reference::Array qkv(rows_, 3 * width_);
    qkv.values = x;
    const reference::Array y = reference::attention(shape_, qkv);
    double sum = 0.0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
      sum += y.values[i] * static_cast<double>(weights[i]);
    }
    return sum;
  };
  expect_close(to_host(dqkv.storage), numeric_gradient(weighted_sum, {qkv_.begin(), qkv_.end()}), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionTest,
    testing::Values(reference::Attention{2, 5, 2, 3, true}, reference::Attention{2, 5, 2, 3, false},
                    reference::Attention{1, 21, 1, 8, true}, reference::Attention{1, 18, 2, 9, false},
                    reference::Attention{2, 33, 1, 24, true}, reference::Attention{1, 49, 2, 16, false},
                    reference::Attention{3, 1, 1, 4, true}));

TEST(Attention, CausalOutputIgnoresLaterPositions) {
  const workloads::AttentionShape shape{1, 20, 1, 4, true};
  std::vector<float> qkv = random_floats(20 * 12, 3, 1.0);
  ExecutionSpace exec;
  workloads::Arena arena;
  workloads::AttentionTape tape;
  arena.lay_out(exec, [&](workloads::Arena& a) { tape = workloads::AttentionTape(a, shape); });
  std::vector<float> outputs[2];
  for (std::vector<float>& output : outputs) {
    const DeviceMatrix y(20, 4);
    workloads::attention_forward(exec, shape, DeviceMatrix(qkv, 20, 12).view(), tape, y.view());
    output = to_host(y.storage);
    std::fill(qkv.begin() + 11 * 12, qkv.end(), 50.0f);
  }
  EXPECT_TRUE(std::equal(outputs[0].begin(), outputs[0].begin() + 11 * 4, outputs[1].begin()));
  EXPECT_NE(outputs[0], outputs[1]);
}

TEST(LayerNorm, ForwardEqualsReference) {
  for (const std::size_t width : {1U, 15U, 16U, 50U}) {
    TensorLayoutBuilder builder;
    const workloads::LayerNorm norm(builder, "norm", static_cast<std::int64_t>(width));
    const std::vector<float> parameters = random_floats(2 * width, 4, 1.0);
    const std::vector<float> x = random_floats(3 * width, 5, 2.0);
    const DeviceMatrix y(3, width);
    norm.forward(ExecutionSpace(), to_device(parameters), DeviceMatrix(x, 3, width).view(),
                 DeviceMatrix(3, 2).view(), y.view());
    const std::vector<double> scale(parameters.begin(), parameters.end());
    const auto expected = reference::layer_norm(exact(x, 3, width), scale.data(), scale.data() + width);
    expect_close(to_host(y.storage), expected.values, 1e-5);
  }
}

TEST(Convolution, ForwardEqualsReference) {
  TensorLayoutBuilder builder;
  const workloads::Convolution convolution(builder, "convolution", 3, 5);
  const std::vector<float> parameters = random_floats(9 * 3 * 5 + 5, 6, 1.0);
  const std::vector<double> weights(parameters.begin(), parameters.end());
  for (const workloads::ImageShape shape : {workloads::ImageShape{2, 4, 6}, {1, 1, 5}, {1, 3, 1}}) {
    const auto pixels = static_cast<std::size_t>(shape.pixels());
    const std::vector<float> x = random_floats(pixels * 3, 7, 1.0);
    const DeviceMatrix y(pixels, 5);
    convolution.forward(ExecutionSpace(), to_device(parameters), shape, DeviceMatrix(x, pixels, 3).view(),
                        DeviceMatrix(pixels, 27).view(), y.view());
    const auto expected = reference::convolution(exact(x, pixels, 3), static_cast<std::size_t>(shape.height),
                                                 static_cast<std::size_t>(shape.width), weights.data(),
                                                 weights.data() + 135, 5);
    expect_close(to_host(y.storage), expected.values, 1e-5);
  }
}

TEST(MaxPool, HandSized) {
  const workloads::ImageShape shape{1, 3, 4};  // the third line is dropped
  const DeviceMatrix x({1, 5, -1, -2, 3, 5, -4, -3, 9, 9, 9, 9}, 12, 1);
  const DeviceMatrix y(2, 1);
  workloads::rectified_max_pool(ExecutionSpace(), shape, x.view(), y.view());
  EXPECT_EQ(to_host(y.storage), (std::vector<float>{5, 0}));

  const DeviceMatrix dx(12, 1);
  workloads::rectified_max_pool_backward(ExecutionSpace(), shape, x.view(), DeviceMatrix({7, 8}, 2, 1).view(),
                                         dx.view());
  EXPECT_EQ(to_host(dx.storage), (std::vector<float>{0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(CrossEntropy, RowsWithoutTargetTakeNoPart) {
  const std::vector<float> logits = random_floats(4 * 19, 8, 2.0);
  const std::vector<int> targets = {3, -1, 18, 0};
  const DeviceMatrix dlogits(logits, 4, 19);
  const DeviceMatrix results(4, 2);
  const ExecutionSpace exec;
  const auto device_targets = to_device(std::vector<std::int32_t>(targets.begin(), targets.end()));
  const auto evaluation =
      workloads::cross_entropy_evaluation(exec, dlogits.view(), device_targets, results.view());
  workloads::cross_entropy_gradient(exec, dlogits.view(), device_targets, 1.0f / 3.0f, results.view());

  const double expected = reference::cross_entropy(exact(logits, 4, 19), targets);
  EXPECT_NEAR(workloads::sum_of_losses(exec, results.view()) / 3.0, expected, 1e-6);
  EXPECT_NEAR(evaluation.loss_sum / 3.0, expected, 1e-6);
  EXPECT_EQ(evaluation.count, 3);
  const auto loss = [&](const std::vector<double>& x) {
    reference::Array array(4, 19);
    array.values = x;
    return reference::cross_entropy(array, targets);
  };
  expect_close(to_host(dlogits.storage), numeric_gradient(loss, {logits.begin(), logits.end()}), 1e-6);
}

TEST(CrossEntropy, CountsTheFirstLargestLogitAsThePrediction) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const DeviceMatrix logits({1, 2, 2, /**/ 1, 2, 2, /**/ 3, 0, 0, /**/ nan, nan, nan}, 4, 3);
  const auto targets = to_device(std::vector<std::int32_t>{1, 2, 0, 0});
  const auto evaluation = workloads::cross_entropy_evaluation(ExecutionSpace(), logits.view(), targets,
                                                              DeviceMatrix(4, 2).view());
  EXPECT_EQ(evaluation.correct, 2);
  EXPECT_EQ(evaluation.count, 4);
  EXPECT_TRUE(std::isnan(evaluation.loss_sum));
}

}  // namespace
}  // namespace kadam::test::layer_test
