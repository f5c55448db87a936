// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/algorithms/adam.hpp>
#include <kadam/optim/register_optimizer.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace kadam {
namespace {

/// A program of its own, because the table stays as it is made here.
TEST(RegisterOptimizer, WhatIsAddedIsKnownByItsName) {
  const std::vector<std::string> before = optimizer_names();
  const OptimizerTraits& traits_of_first = optimizer_traits(before.front());
  register_optimizer(algorithm_row<Adam>("my_adam", {.dense = true, .warmup = "lr_warmup_steps"}));
  std::vector<std::string> expected = before;
  expected.emplace_back("my_adam");
  EXPECT_EQ(optimizer_names(), expected);
  EXPECT_EQ(optimizer_traits("my_adam").warmup, "lr_warmup_steps");
  EXPECT_TRUE(has_option("my_adam", "beta2"));
  EXPECT_EQ(&optimizer_traits(before.front()), &traits_of_first) << "traits stay where they are";
  const auto optimizer =
      make_optimizer("my_adam", {{"lr", 0.5}}, TensorLayout({{"w", 0, 10}}), Communicator::self());
  EXPECT_EQ(optimizer->options().at("lr"), OptionValue(0.5));
  EXPECT_EQ(optimizer->name(), "my_adam");
  EXPECT_EQ(optimizer_cost("my_adam", {}, 256, Arrangement::flat(4)).phases.front().name, "dense");
}

TEST(RegisterOptimizer, ANameIsTakenOnce) {
  const std::vector<std::string> before = optimizer_names();
  EXPECT_THROW(register_optimizer(algorithm_row<Adam>("lamb", {})), std::invalid_argument);
  EXPECT_EQ(optimizer_names(), before);
}

}  // namespace
}  // namespace kadam
