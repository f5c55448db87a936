// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/optim/make_optimizer.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/wires.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

/// Adam whose moments are divided over ranks is Adam, to the last bit: with rules, clipping, tensors left
/// out, gradients of 16 bits, a model, steps that are skipped, and gradients that are announced.
namespace kadam::sharded_state_test {
namespace {

/// Shards of 2, 3 and 4 ranks begin within tensors.
constexpr std::int64_t d = 2500;
const TensorLayout layout({{"a", 0, 500, {20, 25}},
                           {"b.bias", 500, 590},
                           {"none", 590, 590},
                           {"c", 590, 1600},
                           {"d.bias", 1600, 1610},
                           {"e", 1610, d}});
const std::vector<ParameterGroup> groups = {{.tensors = "*.bias", .lr_scale = 2.0, .weight_decay = 0.0},
                                            {.tensors = "c", .lr_scale = 0.5, .weight_decay = 0.3}};
constexpr std::int64_t steps = 12;

/// What carries messages, and the ranks of a node; 0: all.
using Exchanges = std::tuple<test::Wire, int>;

class ShardedState : public testing::TestWithParam<Exchanges> {
 protected:
  void SetUp() override {
    if (!test::divides_ranks(ranks_per_node())) GTEST_SKIP() << "nodes of two need an even number of ranks";
    communicator_ = connect();
  }
  [[nodiscard]] static int ranks_per_node() {
    const int given = std::get<1>(GetParam());
    int ranks = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return given == 0 ? ranks : given;
  }
  [[nodiscard]] static std::shared_ptr<Communicator> connect() {
    return std::get<0>(GetParam()).connect(ranks_per_node(), 60.0);
  }
  /// k: with one level all ranks.
  [[nodiscard]] int shards() const {
    return communicator_->has_two_levels() ? communicator_->node().size() : communicator_->size();
  }

  [[nodiscard]] static std::unique_ptr<Optimizer> make(const std::shared_ptr<Communicator>& communicator,
                                                       bool divides, const std::string& format,
                                                       double clip_norm = 30.0) {
    const OptionMap options = {{"lr", 0.01},
                               {"weight_decay", 0.1},
                               {"clip_norm", clip_norm},
                               {"gradients", format},
                               {"shard_state", divides}};
    return make_optimizer("adam", options, layout, communicator, groups);
  }
  [[nodiscard]] std::vector<float> values(std::int64_t t) const {
    std::vector<float> g = test::random_gradient(d, communicator_->rank(), t);
    if (t == 6 && communicator_->rank() == communicator_->size() - 1)
      g[1111] = std::numeric_limits<float>::quiet_NaN();
    for (const std::size_t k : left_out(t)) {
      const Tensor& tensor = layout.tensors()[k];
      std::fill(g.begin() + tensor.begin, g.begin() + tensor.end, 0.0F);
    }
    return g;
  }
  /// By all ranks: nothing at first, then one that a shard begins in.
  [[nodiscard]] static std::vector<std::size_t> left_out(std::int64_t t) {
    if (t == 5 || t == 8) return {0, 3};
    if (t == 9) return {5};
    return {};
  }

  void compare(const std::string& format, double clip_norm) const;

  std::shared_ptr<Communicator> communicator_;
  const ExecutionSpace exec_;
};

/// Elements of a vector of the state, and those of the whole one.
void expect_part(const StateFields& shard, const StateFields& whole, const std::string& name) {
  const std::vector<float> part = test::to_host(shard.vector(name));
  const std::vector<float> all = test::to_host(whole.vector(name));
  for (const StateVector& field : shard.vectors()) {
    if (field.name != name) continue;
    const ElementRange& range = field.placement.range;
    ASSERT_EQ(static_cast<std::int64_t>(part.size()), range.elements());
    EXPECT_TRUE(
        test::bitwise_equal(part, std::vector<float>(all.begin() + range.begin, all.begin() + range.end)))
        << name;
  }
}

void ShardedState::compare(const std::string& format, double clip_norm) const {
  const auto divided = make(communicator_, true, format, clip_norm);
  const auto whole = make(connect(), false, format, clip_norm);
  const auto x = test::to_device(test::random_vector(d, 2));
  const auto y = test::to_device(test::random_vector(d, 2));
  const Vector<Bfloat16> model("model", static_cast<std::size_t>(d));
  for (std::int64_t t = 1; t <= steps; ++t) {
    SCOPED_TRACE(testing::Message() << format << " step " << t);
    const Gradient g = test::to_gradient(format, values(t));
    divided->leave_out(left_out(t));
    whole->leave_out(left_out(t));
    if (t % 4 == 2) divided->gradient_ready(exec_, g, {d / 3, d});
    const StepResult got = divided->step(exec_, {x, model}, g);
    const StepResult wanted = whole->step(exec_, y, g);
    EXPECT_EQ(got.skipped, wanted.skipped);
    EXPECT_EQ(got.skipped, t == 6);
    // Squares are added up in another order, in double.
    EXPECT_NEAR(got.gradient_scale, wanted.gradient_scale, 1e-14);
    EXPECT_EQ(got.gradient_scale<1.0, clip_norm> 0.0 && !got.skipped);
    exec_.fence();
    const std::vector<float> own = test::to_host(x);
    ASSERT_TRUE(test::bitwise_equal(own, test::to_host(y)));
    EXPECT_TRUE(test::bitwise_equal(own, test::from_rank_zero(own))) << "replicas differ";
    EXPECT_EQ(test::differs(model, x), 0U);
  }
  const StateFields shard = divided->state_to_save(exec_, x);
  const StateFields all = whole->state_to_save(exec_, y);
  exec_.fence();
  for (const std::string name : {"m", "v"}) expect_part(shard, all, name);
}

TEST_P(ShardedState, IsTheUndividedOneToTheLastBit) {
  for (const std::string format : {"float32", "bf16", "fp16"}) {
    for (const double clip_norm : {0.0, 30.0}) compare(format, clip_norm);
  }
}

TEST_P(ShardedState, HoldsAndSendsItsPart) {
  for (const std::string format : {"float32", "bf16"}) {
    SCOPED_TRACE(format);
    const auto other = connect();
    const auto divided = make(communicator_, true, format);
    const auto whole = make(other, false, format);
    EXPECT_EQ(whole->memory().state_bytes, 8U * d);
    // The ranks of a node hold each element once; several nodes hold the same.
    const double held = communicator_->sum_over_ranks(static_cast<double>(divided->memory().state_bytes));
    EXPECT_EQ(held * shards(), 8.0 * d * communicator_->size());
    const auto x = test::to_device(test::random_vector(d, 2));
    const auto y = test::to_device(test::random_vector(d, 2));
    const auto before = communicator_->bytes_sent();
    const auto before_other = other->bytes_sent();
    const Gradient g = test::to_gradient(format, values(1));
    (void)divided->step(exec_, x, g);
    (void)whole->step(exec_, y, g);
    const auto sent = [](const ByteCounters& now, const ByteCounters& then, Traffic traffic) {
      return now.sent(traffic) - then.sent(traffic);
    };
    // x is gathered in float32, whatever the format of g.
    const std::size_t own = divided->memory().state_bytes / 8;
    const std::size_t more = (format == "float32" ? 0U : 2U) * own * static_cast<std::size_t>(shards() - 1);
    const Traffic of_gather = communicator_->has_two_levels() ? Traffic::node : Traffic::dense;
    for (const Traffic traffic : {Traffic::dense, Traffic::node}) {
      EXPECT_EQ(sent(communicator_->bytes_sent(), before, traffic),
                sent(other->bytes_sent(), before_other, traffic) + (traffic == of_gather ? more : 0U));
    }
    // The sum of the shards' squares.
    EXPECT_EQ(sent(communicator_->bytes_sent(), before, Traffic::control),
              sent(other->bytes_sent(), before_other, Traffic::control) +
                  8U * static_cast<std::size_t>(shards() - 1));
  }
}

std::string title(const testing::TestParamInfo<Exchanges>& test_info) {
  const auto& [wire, ranks_per_node] = test_info.param;
  std::ostringstream text;
  text << wire << "_nodes_of_" << (ranks_per_node == 0 ? "all" : std::to_string(ranks_per_node));
  return text.str();
}

INSTANTIATE_TEST_SUITE_P(Everywhere, ShardedState,
                         testing::Combine(testing::ValuesIn(test::wires), testing::Values(1, 2, 0)), title);

}  // namespace
}  // namespace kadam::sharded_state_test
