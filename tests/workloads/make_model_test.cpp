// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <workloads/make_model.hpp>
#include <workloads/random.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>

namespace kadam::workloads::make_model_test {
namespace {

const DataShape fashion{1, 28, 28, 0, 10};
const DataShape patches{1, 28, 28, 0, 11, 0, 4};
const DataShape text{0, 0, 0, 64, 256};
const DataShape masked_text{0, 0, 0, 64, 256, 10, 0};

std::int64_t elements(const std::string& kind, const DataShape& shape) {
  ModelOptions options;
  options.kind = kind;
  return make_model(options, shape)->tensors().elements();
}

TEST(MakeModel, HasTheDocumentedNumberOfParameters) {
  EXPECT_EQ(elements("mlp", fashion), 55050);
  EXPECT_EQ(elements("cnn", fashion), 20490);
  EXPECT_EQ(elements("transformer", text), 279424);
  EXPECT_EQ(elements("transformer", masked_text), 279520);
  ModelOptions vit;
  vit.kind = "vit";
  vit.transformer.width = 64;
  EXPECT_EQ(make_model(vit, fashion)->tensors().elements(), 104970);
}

std::string message_of(const ModelOptions& options, const DataShape& shape) {
  try {
    static_cast<void>(make_model(options, shape));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(MakeModel, SaysWhatWouldBeRight) {
  const auto expect = [](const std::function<void(ModelOptions&)>& change, const DataShape& shape,
                         const std::string& part) {
    ModelOptions options;
    change(options);
    EXPECT_NE(message_of(options, shape).find(part), std::string::npos) << message_of(options, shape);
  };
  const auto transformer = [](const std::function<void(TransformerOptions&)>& change) {
    return [change](ModelOptions& options) {
      options.kind = "transformer";
      change(options.transformer);
    };
  };
  const auto vit = [](const std::function<void(ModelOptions&)>& change) {
    return [change](ModelOptions& options) {
      options.kind = "vit";
      change(options);
    };
  };
  expect([](ModelOptions& o) { o.kind = "rnn"; }, fashion, "use mlp, cnn, vit or transformer");
  expect([](ModelOptions& o) { o.kind = "mlp"; }, text, "use transformer");
  expect([](ModelOptions& o) { o.kind = "transformer"; }, fashion, "use mlp, cnn or vit");
  expect([](ModelOptions& o) { o.mlp.hidden = {0}; }, fashion, "hidden width 0, expected at least 1");
  expect([](ModelOptions& o) { o.mlp.activation = "tanh"; }, fashion, "use relu or gelu");
  expect([](ModelOptions& o) { o.kind = "cnn", o.cnn = {0, 3}; }, fashion, "expected at least 1 of each");
  expect([](ModelOptions& o) { o.kind = "cnn"; }, {1, 3, 28, 0, 10}, "expected at least 4 x 4");
  expect(transformer([](TransformerOptions& o) { o.heads = 5; }), text, "not a multiple of heads 5");
  expect(transformer([](TransformerOptions& o) { o.depth = 0; }), text, "depth is 0, expected at least 1");
  expect([](ModelOptions& o) { o.kind = "cnn"; }, patches, "a class per patch: use vit");
  expect([](ModelOptions& o) { o.kind = "vit"; }, text, "use transformer");
  expect(vit([](ModelOptions& o) { o.vit.patch = 0; }), fashion, "expected at least 1 pixel");
  expect(vit([](ModelOptions& o) { o.vit.patch = 5; }), fashion, "take a patch that divides both");
  expect(vit([](ModelOptions& o) { o.vit.patch = 7; }), patches, "make them equal");
  expect(vit([](ModelOptions& o) { o.transformer.heads = 5; }), fashion, "not a multiple of heads 5");
}

TEST(MakeModel, InitialisationIsAPureFunctionOfTheSeed) {
  const auto model = make_model({}, fashion);
  const auto values = [&](std::uint64_t seed) {
    HostVector<float> parameters("parameters", 55050);
    Kokkos::deep_copy(parameters, -1.0f);
    model->initialise(parameters, seed);
    return std::vector<float>(parameters.data(), parameters.data() + 55050);
  };
  EXPECT_EQ(values(1), values(1));
  EXPECT_NE(values(1), values(2));
  EXPECT_EQ(values(1)[50176], 0.0f);  // the first bias
  const float scale = static_cast<float>(std::sqrt(2.0 / 784.0) * random_normal(1, 5));
  EXPECT_EQ(values(1)[5], scale);
}

}  // namespace
}  // namespace kadam::workloads::make_model_test
