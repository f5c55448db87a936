// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/codec/any_quantiser.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/pretend_transport.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <stdexcept>

namespace kadam::optimizer_traits_test {
namespace {

constexpr std::int64_t d = 12000;
constexpr int ranks = 3;

std::unique_ptr<Optimizer> make(const std::string& name, const OptionMap& options, std::int64_t tensors = 1) {
  std::vector<Tensor> all;
  for (std::int64_t k = 0; k < tensors; ++k) {
    all.push_back({std::to_string(k), k * d / tensors, (k + 1) * d / tensors});
  }
  return make_optimizer(name, options, TensorLayout(all),
                        std::make_shared<Communicator>(std::make_unique<test::PretendTransport>(ranks)));
}

bool accepts(const std::string& name, const OptionMap& options) {
  try {
    (void)make(name, options);
  } catch (const std::invalid_argument&) {
    return false;
  }
  return true;
}

/// What an optimizer is said to be is what it does: rows of the table are seen to be wrong.
class OptimizerTraitsTest : public testing::TestWithParam<std::string> {
 protected:
  const std::string name_ = GetParam();
  const OptimizerTraits& traits_ = optimizer_traits(name_);
  const OptionMap warmed_up_ = test::options_with_warmup(name_, 5);

  std::set<Traffic> sends() const {
    std::set<Traffic> all;
    for (const PlannedTraffic& planned : make(name_, warmed_up_)->traffic_plan()) {
      if (planned.bytes > 0) all.insert(planned.traffic);
    }
    return all;
  }
};

TEST_P(OptimizerTraitsTest, WarmUps) {
  EXPECT_EQ(accepts(name_, {}), !traits_.needs_warmup);
  EXPECT_TRUE(traits_.warmup.empty() || has_option(name_, traits_.warmup));
  EXPECT_FALSE(traits_.needs_warmup && traits_.warmup.empty());
}

TEST_P(OptimizerTraitsTest, Codes) {
  std::vector<std::string> codes = code_names();
  codes.insert(codes.end(), {"identity", "uniform3"});
  std::set<std::int64_t> bits;
  for (const std::string& code : codes) {
    OptionMap options = warmed_up_;
    options["code"] = code;
    const bool is_taken = std::find(traits_.codes.begin(), traits_.codes.end(), code) != traits_.codes.end();
    EXPECT_EQ(accepts(name_, options), is_taken) << code;
    if (is_taken) bits.insert(code_bits(code));
  }
  for (const std::int64_t number : {1, 2, 3, 4, 8, 16}) {
    OptionMap options = warmed_up_;
    options["bits"] = number;
    EXPECT_EQ(accepts(name_, options), bits.contains(number)) << number;
  }
}

TEST_P(OptimizerTraitsTest, Messages) {
  // A low-rank mean finds no matrix here to compress.
  const bool compresses_matrices_alone = traits_.matrices && traits_.codes.empty();
  EXPECT_EQ(sends() == std::set{Traffic::dense}, traits_.dense || compresses_matrices_alone);
  EXPECT_EQ(sends().contains(Traffic::sparse), traits_.sparse);
  EXPECT_EQ(sends().contains(Traffic::compressed), !traits_.codes.empty());
}

TEST_P(OptimizerTraitsTest, Memory) {
  const MemoryUse one_tensor = make(name_, warmed_up_)->memory();
  const MemoryUse many = make(name_, warmed_up_, 100)->memory();
  EXPECT_EQ(many.workspace_bytes > one_tensor.workspace_bytes, traits_.per_tensor);
  EXPECT_EQ(one_tensor.state_bytes < 2 * sizeof(float) * d, traits_.shards);  // m and v whole
}

TEST_P(OptimizerTraitsTest, Matrices) {
  const auto make_with = [&](const std::vector<std::int64_t>& shape) {
    TensorLayoutBuilder builder;
    builder.add("w", shape);
    return make_optimizer(name_, warmed_up_, builder.build(),
                          std::make_shared<Communicator>(std::make_unique<test::PretendTransport>(ranks)));
  };
  const MemoryUse as_vector = make_with({d})->memory();
  const MemoryUse as_matrix = make_with({100, d / 100})->memory();
  EXPECT_EQ(as_matrix.state_bytes != as_vector.state_bytes, traits_.matrices);
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, OptimizerTraitsTest, testing::ValuesIn(optimizer_names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam::optimizer_traits_test
