// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>
#include <optim/optimizer_cases.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>
#include <support/wires.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

/// Steps over TCP are those over MPI, to the last bit and byte, with one level and with two.
namespace kadam::wires_test {
namespace {

constexpr std::int64_t d = 2000;

class WiresTest : public testing::TestWithParam<std::string> {
 protected:
  struct Run {
    std::vector<float> end;
    std::size_t sent = 0;
  };
  [[nodiscard]] static Run run(const test::Wire& wire, int ranks_per_node) {
    OptionMap options = test::options_with_warmup(GetParam(), 3);
    if (has_option(GetParam(), "sync_interval")) options["sync_interval"] = 3;
    const auto communicator = wire.connect(ranks_per_node, 60.0);
    const auto optimizer = make_optimizer(
        GetParam(), options, TensorLayout({{"w", 0, 1600, {40, 40}}, {"b", 1600, d}}), communicator);
    const auto x = test::to_device(test::random_vector(d, 2));
    for (std::int64_t t = 1; t <= 9; ++t) {
      const auto gradient = test::to_device(test::random_gradient(d, communicator->rank(), t));
      (void)optimizer->step(ExecutionSpace{}, x, gradient);
      optimizer->progress();
    }
    optimizer->flush(ExecutionSpace{}, x);
    return {test::to_host(x), communicator->bytes_sent().total()};
  }
};

TEST_P(WiresTest, TcpCarriesTheSame) {
  for (const int ranks_per_node : {1, 2}) {
    if (!test::divides_ranks(ranks_per_node)) continue;
    const Run mpi = run({false, Staging::automatic}, ranks_per_node);
    const Run tcp = run({true, Staging::automatic}, ranks_per_node);
    EXPECT_TRUE(test::bitwise_equal(mpi.end, tcp.end)) << ranks_per_node;
    EXPECT_EQ(mpi.sent, tcp.sent) << ranks_per_node;
  }
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, WiresTest, testing::ValuesIn(optimizer_names()),
                         [](const auto& test_info) { return test_info.param; });

}  // namespace
}  // namespace kadam::wires_test
