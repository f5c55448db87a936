// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/options/common_options.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

namespace kadam {
namespace {

TEST(LearningRate, WarmUpThenConstant) {
  LearningRate rate;
  rate.lr = {0.1};
  rate.lr_warmup_steps = 10;
  rate.validate("test");
  EXPECT_DOUBLE_EQ(rate.at(1), 0.01);
  EXPECT_DOUBLE_EQ(rate.at(5), 0.05);
  EXPECT_DOUBLE_EQ(rate.at(10), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(1000), 0.1);
}

TEST(LearningRate, CosineFallsToItsFinalFraction) {
  LearningRate rate;
  rate.lr = {1.0};
  rate.lr_schedule = "cosine";
  rate.lr_warmup_steps = 10;
  rate.lr_total_steps = 110;
  rate.lr_final_fraction = 0.1;
  rate.validate("test");
  EXPECT_DOUBLE_EQ(rate.at(5), 0.5);
  EXPECT_NEAR(rate.at(11), 1.0, 1e-3);
  EXPECT_DOUBLE_EQ(rate.at(60), 0.55);
  EXPECT_NEAR(rate.at(160), 0.1, 1e-12);  // where a cosine would have risen again
  EXPECT_NEAR(rate.at(110), 0.1, 1e-12);
  EXPECT_NEAR(rate.at(500), 0.1, 1e-12);
}

TEST(LearningRate, StepsAndLists) {
  LearningRate rate;
  rate.lr = {1.0};
  rate.lr_schedule = "steps";
  rate.lr_decay = 0.5;
  rate.lr_decay_every = 10;
  rate.validate("test");
  EXPECT_DOUBLE_EQ(rate.at(10), 1.0);
  EXPECT_DOUBLE_EQ(rate.at(11), 0.5);
  EXPECT_DOUBLE_EQ(rate.at(20), 0.5);
  EXPECT_DOUBLE_EQ(rate.at(21), 0.25);
  LearningRate list;
  list.lr = {0.3, 0.2};
  list.validate("test");
  EXPECT_DOUBLE_EQ(list.at(1), 0.3);
  EXPECT_DOUBLE_EQ(list.at(2), 0.2);
  EXPECT_THROW((void)list.at(0), std::out_of_range);
  EXPECT_THROW((void)list.at(3), std::out_of_range);
}

TEST(LearningRate, RefusesContradictions) {
  LearningRate cosine;
  cosine.lr_schedule = "cosine";
  EXPECT_THROW(cosine.validate("test"), std::invalid_argument);
  LearningRate list;
  list.lr = {0.1, 0.2};
  list.lr_warmup_steps = 5;
  EXPECT_THROW(list.validate("test"), std::invalid_argument);
}

}  // namespace
}  // namespace kadam
