// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/memory_state.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <reference/adam.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/recorded_work.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

/// A tensor that no rank has a gradient for is left alone, and has a number of steps of its own.
namespace kadam::leaving_out_test {
namespace {

using Names = std::vector<std::size_t>;

/// More tensors than one word of a mask has bits; one of them is empty.
constexpr std::size_t tensors = 60;
TensorLayout some_tensors() {
  TensorLayoutBuilder builder;
  for (std::size_t k = 0; k < tensors; ++k) {
    const auto elements = k == 7 ? 0 : static_cast<std::int64_t>(20 + 13 * (k % 5));
    builder.add((k % 3 == 0 ? "weight" : "bias") + std::to_string(k), elements);
  }
  return builder.build();
}

const TensorLayout layout = some_tensors();
const std::int64_t d = layout.elements();
constexpr std::int64_t steps = 14;
const std::vector<ParameterGroup> groups = {{.tensors = "bias*", .lr_scale = 2.0, .weight_decay = 0.4}};

class LeavingOut : public testing::Test {
 protected:
  using Plan = std::vector<std::vector<Names>>;  ///< by step and rank

  [[nodiscard]] std::unique_ptr<Optimizer> make(const std::string& name = "adam", const OptionMap& more = {},
                                                const TensorLayout& of = layout) const {
    OptionMap options = test::options_that_agree(name, 3);
    options["lr"] = 0.01;
    options["weight_decay"] = 0.2;
    for (const auto& [option, value] : more) options[option] = value;
    return make_optimizer(name, options, of, communicator_, groups);
  }

  /// Ranks name different tensors, and some in common; none in every fifth step.
  [[nodiscard]] Plan plan() const {
    Plan all(static_cast<std::size_t>(steps), std::vector<Names>(static_cast<std::size_t>(size_)));
    for (std::size_t t = 0; t < all.size(); ++t) {
      if (t % 5 == 4) continue;
      for (std::size_t rank = 0; rank < all[t].size(); ++rank) {
        for (std::size_t k = 0; k < tensors; ++k) {
          const bool is_common = (k + t) % 4 == 0 || (k == 55 && t < 9) || (k == 56 && t > 9);
          if (is_common || (k + 3 * rank + t) % 7 == 0) all[t][rank].push_back(k);
        }
      }
    }
    return all;
  }
  /// What all ranks name.
  [[nodiscard]] static std::set<std::size_t> left_out(const std::vector<Names>& of_ranks) {
    std::set<std::size_t> all(of_ranks.front().begin(), of_ranks.front().end());
    for (const Names& names : of_ranks) {
      std::erase_if(all, [&](std::size_t k) { return std::count(names.begin(), names.end(), k) == 0; });
    }
    return all;
  }

  /// With zeros for what is named.
  [[nodiscard]] static std::vector<float> gradient(std::int64_t t, int rank, const Names& names) {
    std::vector<float> g = test::random_gradient(d, rank, t);
    for (const std::size_t k : names) {
      const Tensor& tensor = layout.tensors()[k];
      std::fill(g.begin() + tensor.begin, g.begin() + tensor.end, 0.0F);
    }
    return g;
  }
  [[nodiscard]] std::vector<float> own_gradient(const Plan& plan, std::int64_t t) const {
    return gradient(t, rank_, named(plan, t, rank_));
  }
  [[nodiscard]] static const Names& named(const Plan& plan, std::int64_t t, int rank) {
    return plan[static_cast<std::size_t>(t - 1)][static_cast<std::size_t>(rank)];
  }

  [[nodiscard]] static std::vector<float> start() { return test::random_vector(d, 2); }
  StepResult step(Optimizer& optimizer, const Parameters& x, const Plan& plan, std::int64_t t) const {
    optimizer.leave_out(named(plan, t, rank_));
    return optimizer.step(exec_, x, test::to_device(own_gradient(plan, t)));
  }
  /// Steps from, from + 1 ... to.
  void run(Optimizer& optimizer, const Parameters& x, const Plan& plan, std::int64_t from = 1,
           std::int64_t to = steps) const {
    for (std::int64_t t = from; t <= to; ++t) (void)step(optimizer, x, plan, t);
    exec_.fence();
  }

  /// One dense Adam per tensor, which takes no step where the tensor is left out.
  [[nodiscard]] std::vector<float> reference(const Plan& plan, double clip_norm) const {
    reference::Hyper hyper;
    hyper.clip_norm = clip_norm;
    std::vector<reference::Adam> of_tensors;
    for (const Tensor& tensor : layout.tensors()) {
      reference::Hyper own;
      const bool is_bias = tensor.name.starts_with("bias");
      own.lr = is_bias ? 0.02 : 0.01;
      own.weight_decay = is_bias ? 0.4 : 0.2;
      of_tensors.emplace_back(own, tensor.elements());
    }
    std::vector<float> x = start();
    for (std::int64_t t = 1; t <= steps; ++t) {
      reference::Ranks gradients;
      for (int rank = 0; rank < size_; ++rank) gradients.push_back(gradient(t, rank, named(plan, t, rank)));
      const std::vector<float> g = reference::gradient_mean(hyper, gradients);
      const std::set<std::size_t> alone = left_out(plan[static_cast<std::size_t>(t - 1)]);
      for (std::size_t k = 0; k < tensors; ++k) {
        if (alone.contains(k)) continue;
        const Tensor& tensor = layout.tensors()[k];
        std::vector<float> part(x.begin() + tensor.begin, x.begin() + tensor.end);
        of_tensors[k].step_by(part, {g.begin() + tensor.begin, g.begin() + tensor.end});
        std::copy(part.begin(), part.end(), x.begin() + tensor.begin);
      }
    }
    return x;
  }

  static void expect_near(const std::vector<float>& got, const std::vector<float>& wanted) {
    ASSERT_EQ(got.size(), wanted.size());
    double apart = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      apart = std::max(apart, std::fabs(static_cast<double>(got[i]) - static_cast<double>(wanted[i])));
    }
    EXPECT_LT(apart, 4e-6);
  }

  const ExecutionSpace exec_;
  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
  const int rank_ = communicator_->rank();
  const int size_ = communicator_->size();
};

TEST_F(LeavingOut, EachTensorHasItsOwnSteps) {
  for (const double clip_norm : {0.0, 5.0}) {
    const auto optimizer = make("adam", {{"clip_norm", clip_norm}});
    const auto x = test::to_device(start());
    run(*optimizer, x, plan());
    const std::vector<float> got = test::to_host(x);
    expect_near(got, reference(plan(), clip_norm));
    EXPECT_TRUE(test::bitwise_equal(got, test::from_rank_zero(got))) << "replicas differ";
  }
}

/// Where all gradients of a tensor are of one size, each moment is the largest of its block, and 8 bits lose
/// nothing of it.
TEST_F(LeavingOut, EachTensorHasItsOwnStepsWithMomentsInEightBits) {
  std::vector<std::vector<float>> got;
  for (const char* moments : {"float32", "8bit"}) {
    const auto optimizer = make("adam", {{"moments", moments}, {"clip_norm", 5.0}});
    const auto x = test::to_device(start());
    const Plan of_steps = plan();
    for (std::int64_t t = 1; t <= steps; ++t) {
      std::vector<float> g = gradient(1, 0, named(of_steps, t, rank_));
      for (float& value : g) {
        if (value != 0.0F) value = std::copysign(0.1F * static_cast<float>(t), value);
      }
      optimizer->leave_out(named(of_steps, t, rank_));
      (void)optimizer->step(exec_, x, test::to_device(g));
    }
    exec_.fence();
    got.push_back(test::to_host(x));
  }
  EXPECT_TRUE(test::bitwise_equal(got[0], got[1]));
}

TEST_F(LeavingOut, TouchesNothingOfATensor) {
  for (const char* moments : {"float32", "8bit"}) {
    const auto optimizer = make("adam", {{"moments", moments}});
    const auto x = test::to_device(start());
    const Plan of_steps = plan();
    for (std::int64_t t = 1; t <= steps; ++t) {
      const std::vector<float> before = test::to_host(x);
      (void)step(*optimizer, x, of_steps, t);
      exec_.fence();
      const std::vector<float> after = test::to_host(x);
      const std::set<std::size_t> alone = left_out(of_steps[static_cast<std::size_t>(t - 1)]);
      for (std::size_t k = 0; k < tensors; ++k) {
        const Tensor& tensor = layout.tensors()[k];
        if (tensor.elements() == 0) continue;
        const bool stays = std::equal(before.begin() + tensor.begin, before.begin() + tensor.end,
                                      after.begin() + tensor.begin);
        EXPECT_EQ(stays, alone.contains(k)) << tensor.name << " in step " << t << ", " << moments;
      }
    }
  }
}

/// To the last bit what a gradient of zeros does.
TEST_F(LeavingOut, OnSomeRanksOnlyIsAGradientOfZerosThere) {
  if (size_ == 1) GTEST_SKIP() << "one rank is all ranks";
  Plan of_one = plan();
  for (auto& of_ranks : of_one) of_ranks.back().clear();
  Plan apart = plan();  // all ranks name some, but never the same
  for (auto& of_ranks : apart) {
    of_ranks.assign(of_ranks.size(), {});
    for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) of_ranks[rank] = {rank, rank + 20, 56 + rank};
  }
  for (const Plan& of_steps : {of_one, apart}) {
    const auto named_ones = make();
    const auto plain = make();
    const auto x = test::to_device(start());
    const auto y = test::to_device(start());
    run(*named_ones, x, of_steps);
    for (std::int64_t t = 1; t <= steps; ++t) {
      (void)plain->step(exec_, y, test::to_device(own_gradient(of_steps, t)));
    }
    exec_.fence();
    EXPECT_TRUE(test::bitwise_equal(test::to_host(x), test::to_host(y)));
  }
}

TEST_F(LeavingOut, GoesOnToTheLastBit) {
  for (const char* moments : {"float32", "8bit"}) {
    const OptionMap options = {{"moments", moments}};
    const auto whole = make("adam", options);
    const auto x = test::to_device(start());
    run(*whole, x, plan());
    for (const std::int64_t at : {1, 6, 11}) {
      const auto first = make("adam", options);
      const auto second = make("adam", options);
      const auto y = test::to_device(start());
      run(*first, y, plan(), 1, at);
      const auto state = checkpoint::save_in_memory(exec_, *first, y);
      // What it has left out itself goes.
      const auto z = test::to_device(start());
      run(*second, z, plan(), 1, 3);
      checkpoint::restore_from_memory(exec_, *second, z, state);
      run(*second, z, plan(), at + 1);
      EXPECT_TRUE(test::bitwise_equal(test::to_host(z), test::to_host(x)))
          << "saved after step " << at << ", " << moments;
    }
  }
}

/// So states of versions that left nothing out mean the same.
TEST_F(LeavingOut, AStateWithoutItHasLeftOutNothing) {
  const Plan nothing(static_cast<std::size_t>(steps), std::vector<Names>(static_cast<std::size_t>(size_)));
  const auto plain = make();
  const auto x = test::to_device(start());
  run(*plain, x, nothing, 1, 6);
  const auto state = checkpoint::save_in_memory(exec_, *plain, x);
  for (const auto& [word, value] : state.words) EXPECT_EQ(word.find("left_out"), std::string::npos) << value;
  run(*plain, x, nothing, 7);
  const auto other = make();
  const auto y = test::to_device(start());
  run(*other, y, plan(), 1, 6);
  checkpoint::restore_from_memory(exec_, *other, y, state);
  run(*other, y, nothing, 7);
  EXPECT_TRUE(test::bitwise_equal(test::to_host(y), test::to_host(x)));
}

TEST_F(LeavingOut, ASkippedStepLeavesNothingOut) {
  const auto clean = make();
  const auto x = test::to_device(start());
  run(*clean, x, plan());
  const auto optimizer = make();
  const auto y = test::to_device(start());
  for (std::int64_t t = 1; t <= steps; ++t) {
    // Other names than those of the next step.
    optimizer->leave_out(Names{0, 1, 2, 55, static_cast<std::size_t>(t)});
    std::vector<float> bad = test::random_gradient(d, rank_, t);
    if (rank_ == size_ - 1) bad.back() = std::numeric_limits<float>::quiet_NaN();
    EXPECT_TRUE(optimizer->step(exec_, y, test::to_device(bad)).skipped);
    if (named(plan(), t, rank_).empty()) {
      (void)optimizer->step(exec_, y, test::to_device(own_gradient(plan(), t)));
    } else {
      (void)step(*optimizer, y, plan(), t);
    }
  }
  exec_.fence();
  EXPECT_TRUE(test::bitwise_equal(test::to_host(y), test::to_host(x)));
}

TEST_F(LeavingOut, HoldsForOneStep) {
  const auto optimizer = make();
  const auto x = test::to_device(start());
  optimizer->leave_out(Names{3});
  optimizer->leave_out(Names{5});
  const auto moved = [&](std::size_t k, const std::vector<float>& before, const std::vector<float>& after) {
    const auto begin = static_cast<std::size_t>(layout.tensors()[k].begin);
    return before[begin] != after[begin];
  };
  std::vector<float> before = test::to_host(x);
  for (const bool names_five : {true, false}) {
    const Names names = names_five ? Names{5} : Names{};
    (void)optimizer->step(exec_, x, test::to_device(gradient(1, rank_, names)));
    exec_.fence();
    const std::vector<float> after = test::to_host(x);
    EXPECT_TRUE(moved(3, before, after));
    EXPECT_EQ(moved(5, before, after), !names_five);
    before = after;
  }
}

TEST_F(LeavingOut, TheModelIsWrittenInAnyCase) {
  const auto check = [&]<class T>(const Vector<T>& model, const char* format) {
    const auto optimizer = make("adam", {{"gradients", format}});
    const auto x = test::to_device(start());
    for (std::int64_t t = 1; t <= steps; ++t) {
      optimizer->leave_out(named(plan(), t, rank_));
      (void)optimizer->step(exec_, {x, model}, test::to_gradient(format, own_gradient(plan(), t)));
      EXPECT_EQ(test::differs(model, x), 0U) << format << " in step " << t;
    }
  };
  check(Vector<Bfloat16>("model", static_cast<std::size_t>(d)), "bf16");
  check(Vector<Float16>("model", static_cast<std::size_t>(d)), "fp16");
}

/// Of the messages beside the gradient: 16 bytes to each other rank, and 8 per 52 tensors where all name
/// some.
TEST_F(LeavingOut, CostsNothingWhereSomeRankNamesNone) {
  const auto optimizer = make();
  const auto x = test::to_device(start());
  const auto others = static_cast<std::size_t>(size_ - 1);
  const auto control = [&](std::int64_t t, const Names& names) {
    const std::size_t before = communicator_->bytes_sent().sent(Traffic::control);
    optimizer->leave_out(names);
    (void)optimizer->step(exec_, x, test::to_device(gradient(t, rank_, names)));
    return communicator_->bytes_sent().sent(Traffic::control) - before;
  };
  EXPECT_EQ(control(1, {}), 16 * others);
  if (size_ > 1) {
    EXPECT_EQ(control(2, rank_ == 0 ? Names{} : Names{1}), 16 * others);
  }
  EXPECT_EQ(control(3, {1}), (16 + 2 * 8) * others);
}

/// One launch as without it; after it one for each run of tensors with equal numbers of steps.
TEST_F(LeavingOut, OnlyThenAStepHasMoreLaunches) {
  const auto updates = [&](Optimizer& optimizer, const Vector<float>& x, const Names& names) {
    const auto g = test::to_device(gradient(1, rank_, names));
    optimizer.leave_out(names);
    const test::RecordedWork recorded;
    (void)optimizer.step(exec_, x, g);
    const std::vector<std::string>& launches = test::RecordedWork::launches();
    return std::count_if(launches.begin(), launches.end(), [](const std::string& label) {
      return label.find("kadam::adam_update") != std::string::npos;
    });
  };
  const auto optimizer = make();
  const auto x = test::to_device(start());
  EXPECT_EQ(updates(*optimizer, x, {}), 1);
  EXPECT_EQ(updates(*optimizer, x, {4, 5, 20}), 3);
  EXPECT_EQ(updates(*optimizer, x, {}), 5);
}

/// Of algorithms that do not leave tensors alone a gradient is what it is.
TEST_F(LeavingOut, ElsewhereChangesNothing) {
  for (const std::string& name : optimizer_names()) {
    if (name == "adam") continue;
    const auto named_ones = make(name);
    const auto plain = make(name);
    const auto x = test::to_device(start());
    const auto y = test::to_device(start());
    run(*named_ones, x, plan(), 1, 5);
    for (std::int64_t t = 1; t <= 5; ++t) {
      (void)plain->step(exec_, y, test::to_device(own_gradient(plan(), t)));
    }
    exec_.fence();
    EXPECT_TRUE(test::bitwise_equal(test::to_host(x), test::to_host(y))) << name;
  }
}

TEST_F(LeavingOut, AWrongNumberIsSaid) {
  const auto optimizer = make();
  try {
    optimizer->leave_out(Names{3, tensors});
    ADD_FAILURE() << "a tensor that is not there";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "kadam::Optimizer::leave_out (adam): there is no tensor 60: the model has 60 tensors, "
                 "counted from 0");
  }
}

}  // namespace
}  // namespace kadam::leaving_out_test
