// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/dense_mean.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/gradients.hpp>
#include <support/late_marks.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <random>
#include <string_view>
#include <thread>

/// Gradients that are announced while they are computed: the same steps to the last bit, whoever announces
/// what and in which order, and the same bytes.
namespace kadam::overlap_test {
namespace {

constexpr std::int64_t d = 5003;

/// A NaN on the last rank: once all have announced a part, once rank 0 alone has announced anything.
bool is_poisoned(std::int64_t step) {
  return step == 2 || step == 6;
}

const TensorLayout layout({{"a", 0, 1000}, {"b.bias", 1000, 1100}, {"c", 1100, d}});

using Ranges = std::vector<ElementRange>;

Ranges from_the_back() {
  Ranges ranges;
  std::int64_t end = d;
  for (std::int64_t length = 1; end > 0; length = length * 3 + 1) {
    ranges.push_back({std::max<std::int64_t>(0, end - length), end});
    end = ranges.back().begin;
  }
  return ranges;
}

/// Short ranges in disorder, some of them twice, some overlapping their neighbours, some missing.
Ranges shuffled(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t limit) { return static_cast<std::int64_t>(random() % limit); };
  Ranges ranges;
  for (std::int64_t begin = 0; begin < d;) {
    const std::int64_t end = std::min<std::int64_t>(d, begin + 1 + below(200));
    if (below(16) != 0) ranges.push_back({begin, std::min<std::int64_t>(d, end + below(9))});
    if (below(8) == 0) ranges.push_back({begin, end});
    begin = end;
  }
  std::shuffle(ranges.begin(), ranges.end(), random);
  return ranges;
}

/// What a rank announces of its gradient of a step: together nothing, all, parts, and by some ranks alone.
Ranges announced(int rank, std::int64_t step) {
  const std::vector<Ranges> kinds = {from_the_back(),
                                     {{0, d}},
                                     {{d / 3, d / 2}, {17, 17}, {0, 1}},
                                     {},
                                     {{0, d}},
                                     shuffled(static_cast<std::uint32_t>(step))};
  const auto kind = static_cast<std::size_t>(step % 7);
  if (kind == 6) return rank == 0 ? Ranges{{0, d}} : Ranges{};
  return kinds[(kind + static_cast<std::size_t>(step < 7 ? 0 : rank)) % kinds.size()];
}

/// A gradient that comes into being: its elements are 0 until shortly before they are announced, and never
/// written afterwards; those that are not announced are 0 until the step.
Gradient announce(const ExecutionSpace& exec, Optimizer& optimizer, const Gradient& values,
                  const Ranges& ranges) {
  Gradient gradient;
  values.visit([&]<class T, class... P>(const Kokkos::View<const T*, P...>& from) {
    const Vector<T> to("gradient", static_cast<std::size_t>(d));
    std::vector<bool> is_final(static_cast<std::size_t>(d), false);
    const auto fill = [&](const ElementRange& range) {
      for (std::int64_t begin = range.begin; begin < range.end; ++begin) {
        std::int64_t end = begin;
        while (end < range.end && !is_final[static_cast<std::size_t>(end)])
          is_final[static_cast<std::size_t>(end++)] = true;
        const auto elements = Kokkos::make_pair(begin, end);
        Kokkos::deep_copy(exec, Kokkos::subview(to, elements), Kokkos::subview(from, elements));
        begin = end;
      }
    };
    for (const ElementRange& range : ranges) {
      fill(range);
      optimizer.gradient_ready(exec, to, range);
    }
    fill({0, d});
    gradient = to;
  });
  return gradient;
}

class OverlapTest : public testing::TestWithParam<std::tuple<std::string, std::string, Staging>> {
 protected:
  const std::string name_ = std::get<0>(GetParam());
  const std::string format_ = std::get<1>(GetParam());
  const ExecutionSpace exec_;
  const test::LateMarks late_{2};

  /// Slices are short: many to a chunk. Staged, they travel in parts as well.
  static std::shared_ptr<Communicator> communicator() {
    return make_mpi_communicator(MPI_COMM_WORLD, {{std::get<2>(GetParam()), 700}, 512});
  }
  [[nodiscard]] std::unique_ptr<Optimizer> optimizer(const std::shared_ptr<Communicator>& communicator,
                                                     std::int64_t warmup = 12) const {
    OptionMap options = test::options_that_agree(name_, warmup);
    options["lr"] = 0.01;
    options["weight_decay"] = 0.1;
    options["clip_norm"] = 3.0;
    options["gradients"] = format_;
    return make_optimizer(name_, options, layout, communicator, {{.tensors = "*.bias", .dense = true}});
  }
  [[nodiscard]] Gradient gradient(int rank, int ranks, std::int64_t step) const {
    auto values = test::random_gradient(d, rank, step);
    if (is_poisoned(step) && rank == ranks - 1) values[170] = std::numeric_limits<float>::quiet_NaN();
    return test::to_gradient(format_, values);
  }
};

std::size_t sent_by(const Communicator& communicator) {
  return communicator.bytes_sent().total() - communicator.bytes_sent().sent(Traffic::control);
}

/// Those of zero_one_adam are dense where it has a variance step.
bool is_dense(const StepResult& result) {
  const std::string_view phase = result.phase;
  return phase == "dense" || phase == "warm-up" || phase == "variance";
}

TEST_P(OverlapTest, AnnouncedGradientsMakeTheSameSteps) {
  const auto own = communicator();
  const auto other = communicator();
  const auto with = optimizer(own);
  const auto without = optimizer(other);
  const int rank = own->rank();
  const auto x = test::to_device(test::random_vector(d, 2));
  const auto y = test::to_device(test::random_vector(d, 2));
  for (std::int64_t t = 1; t <= 18; ++t) {
    SCOPED_TRACE(testing::Message() << "step " << t);
    const Gradient values = gradient(rank, own->size(), t);
    const std::size_t before = sent_by(*own);
    const Gradient g = announce(exec_, *with, values, announced(rank, t));
    const std::size_t early = sent_by(*own) - before;
    const StepResult result = with->step(exec_, x, g);
    const StepResult wanted = without->step(exec_, y, values);
    EXPECT_EQ(result.skipped, is_poisoned(t));
    EXPECT_EQ(result.step, wanted.step);
    Kokkos::fence();
    EXPECT_TRUE(test::bitwise_equal(test::to_host(x), test::to_host(y)));
    if (result.skipped) continue;
    EXPECT_EQ(std::string_view(result.phase), wanted.phase);
    EXPECT_EQ(result.gradient_norm, wanted.gradient_norm);
    EXPECT_EQ(result.gradient_scale, wanted.gradient_scale);
    EXPECT_EQ(sent_by(*own) - before, with->bytes_sent_in(result.step, result.phase));
    if (!is_dense(result)) {
      EXPECT_EQ(early, 0U) << "nothing is known before the step";
    }
  }
  EXPECT_EQ(other->bytes_sent().sent(Traffic::control), own->bytes_sent().sent(Traffic::control));
}

/// If all ranks have announced everything, and poll, there is nothing left to be sent in the step.
TEST_P(OverlapTest, TravelsWhileTheProgramComputes) {
  const auto own = communicator();
  const auto optimizer = this->optimizer(own);
  const Gradient g = gradient(own->rank(), own->size(), 1);
  const std::size_t before = sent_by(*own);
  optimizer->gradient_ready(exec_, g, {d / 2, d});
  optimizer->gradient_ready(exec_, g, {0, d / 2});
  MPI_Barrier(MPI_COMM_WORLD);
  const auto x = test::to_device(test::random_vector(d, 2));
  const OptimizerTraits& traits = optimizer_traits(name_);
  const bool is_dense = traits.dense || !traits.warmup.empty();
  const std::size_t wanted = is_dense ? DenseMean::bytes_sent(*own, d, optimizer->gradient_format()) : 0U;
  for (int wait = 0; wait < 2000 && sent_by(*own) - before < wanted; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    optimizer->progress();
  }
  EXPECT_EQ(sent_by(*own) - before, wanted);
  // Nobody stops asking while others still need an answer.
  MPI_Barrier(MPI_COMM_WORLD);
  const StepResult result = optimizer->step(exec_, x, g);
  EXPECT_EQ(sent_by(*own) - before, optimizer->bytes_sent_in(1, result.phase));
}

TEST_P(OverlapTest, RefusesWhatIsNotTheGradient) {
  const auto own = communicator();
  const auto optimizer = this->optimizer(own);
  const Gradient g = gradient(own->rank(), own->size(), 1);
  EXPECT_THROW(optimizer->gradient_ready(exec_, g, {0, d + 1}), std::invalid_argument);
  EXPECT_THROW(optimizer->gradient_ready(exec_, g, {-1, 4}), std::invalid_argument);
  EXPECT_THROW(optimizer->gradient_ready(exec_, g, {4, 3}), std::invalid_argument);
  const Gradient short_one = test::to_gradient(format_, std::vector<float>(7, 1.0F));
  EXPECT_THROW(optimizer->gradient_ready(exec_, short_one, {0, 7}), std::invalid_argument);
  const std::string wrong = format_ == "float32" ? "bf16" : "float32";
  const Gradient of_wrong_format = test::to_gradient(wrong, test::random_gradient(d, 0, 1));
  EXPECT_THROW(optimizer->gradient_ready(exec_, of_wrong_format, {0, d}), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, OverlapTest,
                         testing::Combine(testing::ValuesIn(optimizer_names()),
                                          testing::Values("float32", "bf16"),
                                          testing::Values(Staging::automatic, Staging::always)),
                         [](const auto& test_info) {
                           return std::get<0>(test_info.param) + "_" + std::get<1>(test_info.param) +
                                  (std::get<2>(test_info.param) == Staging::always ? "_staged" : "");
                         });

class AdamOverlapTest : public testing::Test {
 protected:
  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  const ExecutionSpace exec_;
  const Vector<float> x_ = test::to_device(test::random_vector(d, 2));
  const Vector<float> gradient_ = test::to_device(test::random_gradient(d, communicator_->rank(), 1));

  void SetUp() override {
    if (communicator_->size() == 1) GTEST_SKIP() << "one rank sends nothing";
  }
};

TEST_F(AdamOverlapTest, AStepWithAnotherViewIsRefusedAndOneWithTheSameGoesOn) {
  const auto optimizer = make_optimizer("adam", {}, layout, communicator_);
  optimizer->gradient_ready(exec_, gradient_, {0, 1000});
  const auto other = test::to_device(test::random_gradient(d, communicator_->rank(), 1));
  EXPECT_THROW(optimizer->step(exec_, x_, other), std::invalid_argument);
  EXPECT_THROW(optimizer->gradient_ready(exec_, other, {1000, d}), std::invalid_argument);
  EXPECT_EQ(optimizer->step(exec_, x_, gradient_).step, 1);
}

TEST_F(AdamOverlapTest, TheCommunicatorIsBusyMeanwhile) {
  const auto optimizer = make_optimizer("adam", {}, layout, communicator_);
  const auto second = make_optimizer("adam", {}, layout, communicator_);
  optimizer->gradient_ready(exec_, gradient_, {0, 1000});
  EXPECT_THROW(second->gradient_ready(exec_, gradient_, {0, 1000}), std::logic_error);
  optimizer->step(exec_, x_, gradient_);
  EXPECT_EQ(second->step(exec_, x_, gradient_).step, 1);
}

/// On rank 0 alone, so that any waiting would last for ever.
TEST_F(AdamOverlapTest, WaitsForNobodyIfAnExceptionEndsTheStep) {
  if (communicator_->rank() == 0) {
    try {
      const auto optimizer = make_optimizer("adam", {}, layout, communicator_);
      optimizer->gradient_ready(exec_, gradient_, {0, d});
      throw std::runtime_error("while the gradient is computed");
    } catch (const std::runtime_error&) {
      EXPECT_FALSE(communicator_->is_exchanging());
    }
  } else {
    const auto optimizer = make_optimizer("adam", {}, layout, communicator_);
  }
}

}  // namespace
}  // namespace kadam::overlap_test
