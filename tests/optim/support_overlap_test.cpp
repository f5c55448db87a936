// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/host_views.hpp>
#include <support/optimizers_that.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

/// The overlap of supports where it is known beforehand.
namespace kadam::support_overlap_test {
namespace {

constexpr std::int64_t d = 256;

class SupportOverlapTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);

  /// The figure after two steps. The gradient is 1 where (i + shift) % ranks = 0, elsewhere 0.
  std::optional<double> overlap(int shift, std::int64_t warmup_steps) {
    const auto& [name, exchange] = GetParam();
    const OptionMap options = {
        {"warmup_steps", warmup_steps}, {"density", 0.25}, {"select_block", 48}, {"exchange", exchange}};
    const auto optimizer = make_optimizer(name, options, TensorLayout({{"w", 0, d}}), communicator_);
    std::vector<float> gradient(static_cast<std::size_t>(d), 0.0F);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      if ((static_cast<int>(i) + shift) % communicator_->size() == 0) gradient[i] = 1.0F;
    }
    const auto parameters = test::to_device(std::vector<float>(gradient.size(), 0.5F));
    for (int t = 0; t < 2; ++t) optimizer->step(ExecutionSpace{}, parameters, test::to_device(gradient));
    return optimizer->health(ExecutionSpace{}).support_overlap;
  }
};

TEST_P(SupportOverlapTest, IsAllWhereRanksAgreeAndNoneWhereTheyShareNothing) {
  const bool several = communicator_->size() > 1;
  EXPECT_EQ(overlap(0, 0), several ? std::optional(1.0) : std::nullopt);
  EXPECT_EQ(overlap(communicator_->rank(), 0), several ? std::optional(0.0) : std::nullopt);
  EXPECT_EQ(overlap(0, 2), std::nullopt) << "nothing sparse was sent in the warm-up";
}

INSTANTIATE_TEST_SUITE_P(SparseOptimizers, SupportOverlapTest,
                         testing::Combine(testing::ValuesIn(test::optimizers_that(&OptimizerTraits::sparse)),
                                          testing::Values("own", "owner")),
                         [](const auto& test_info) {
                           return std::get<0>(test_info.param) + "_" + std::get<1>(test_info.param);
                         });

}  // namespace
}  // namespace kadam::support_overlap_test
