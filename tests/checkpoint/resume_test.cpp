// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/memory_state.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <optim/optimizer_cases.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/optimizers_that.hpp>
#include <support/random_vectors.hpp>
#include <support/shared_folder.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

/// Save after any event of a run, and go on elsewhere: to the last bit what would have come without the
/// interruption, on every rank, for every algorithm in every phase. And saving changes nothing.
namespace kadam::resume_test {
namespace {

using test::OptimizerCase;
using test::steps_per_case;

constexpr std::int64_t d = 1500;
const TensorLayout layout({{"a", 0, 500, {20, 25}}, {"none", 500, 500}, {"bias", 500, 540}, {"b", 540, d}});

/// What happens in a run: steps, gradients with a NaN, which are skipped, a flush, and options that are set.
enum class Event : std::uint8_t { step, bad_step, flush, set };

/// Bad ones in the warm-up, in its last step, after the flush, and between synchronisations.
std::vector<Event> events() {
  std::vector<Event> all;
  for (std::int64_t t = 1; t <= steps_per_case; ++t) {
    if (t == 4 || t == 10 || t == 14) all.push_back(Event::bad_step);
    if (t == 12 || t == 16) all.push_back(Event::set);
    all.push_back(Event::step);
    if (t == 10) {
      all.push_back(Event::flush);
      all.push_back(Event::bad_step);
    }
  }
  return all;
}

struct Setting {
  OptimizerCase of = {};
  int ranks_per_node = 1;
  bool has_groups = false;
  std::size_t stride = 3;  ///< of the events after which it is saved
};

std::ostream& operator<<(std::ostream& out, const Setting& setting) {
  return out << setting.of.title;
}

/// What a run leaves behind.
struct Course {
  std::vector<StepResult> results;
  std::vector<float> parameters;
  std::vector<float> flushed;
  std::vector<PlannedTraffic> plan;
  Health health;
};

void expect_equal(const StepResult& got, const StepResult& wanted) {
  EXPECT_EQ(got.step, wanted.step);
  EXPECT_EQ(got.skipped, wanted.skipped);
  EXPECT_STREQ(got.phase, wanted.phase);
  EXPECT_EQ(got.synchronised, wanted.synchronised);
  EXPECT_EQ(got.learning_rate, wanted.learning_rate);
  EXPECT_EQ(got.gradient_scale, wanted.gradient_scale);
}

/// What follows from the state alone. The rest needs an exchange since the restart, or is measured.
void expect_equal_state(const Health& got, const Health& wanted) {
  EXPECT_EQ(got.skipped_steps, wanted.skipped_steps);
  EXPECT_EQ(got.variance_drift, wanted.variance_drift);
  EXPECT_EQ(got.variance_spread, wanted.variance_spread);
  EXPECT_EQ(got.inactive_fraction, wanted.inactive_fraction);
}

/// The last results, from some event on.
void expect_equal_end(const Course& got, const Course& wanted) {
  EXPECT_TRUE(test::bitwise_equal(got.parameters, wanted.parameters)) << "other parameters";
  EXPECT_TRUE(test::bitwise_equal(got.flushed, wanted.flushed)) << "others after a flush";
  ASSERT_LE(got.results.size(), wanted.results.size());
  const std::size_t before = wanted.results.size() - got.results.size();
  for (std::size_t k = 0; k < got.results.size(); ++k)
    expect_equal(got.results[k], wanted.results[before + k]);
  expect_equal_state(got.health, wanted.health);
  ASSERT_EQ(got.plan.size(), wanted.plan.size());
  for (std::size_t k = 0; k < got.plan.size(); ++k) {
    EXPECT_EQ(got.plan[k].every, wanted.plan[k].every);
    EXPECT_EQ(got.plan[k].after, wanted.plan[k].after);
  }
}

/// Bytes, or float32 of which some are -0 and come back as 0.
bool are_equal(const std::vector<std::byte>& got, const std::vector<std::byte>& wanted) {
  if (got == wanted || got.size() != wanted.size() || got.size() % sizeof(float) != 0) return got == wanted;
  const auto* const first = reinterpret_cast<const float*>(got.data());
  return std::equal(first, first + got.size() / sizeof(float), reinterpret_cast<const float*>(wanted.data()));
}

class ResumeTest : public testing::TestWithParam<Setting> {
 protected:
  [[nodiscard]] static const OptimizerCase& optimizer_case() { return GetParam().of; }
  [[nodiscard]] static int ranks_per_node() { return GetParam().ranks_per_node; }

  [[nodiscard]] static std::vector<ParameterGroup> groups() {
    if (!GetParam().has_groups) return {};
    return {{"bias", 0.5, 0.0, true}, {"b", 2.0, {}, false}};
  }

  [[nodiscard]] std::unique_ptr<Optimizer> make() const {
    return make_optimizer(optimizer_case().name, test::options_that_agree(optimizer_case()), layout,
                          communicator_, groups());
  }

  /// Where the warm-up is to end by itself, gradients that let the variance settle.
  [[nodiscard]] static bool ends_by_itself() {
    const auto warmup = optimizer_case().options.find("warmup_steps");
    return warmup != optimizer_case().options.end() && std::holds_alternative<std::string>(warmup->second);
  }

  [[nodiscard]] Gradient gradient(std::int64_t t, bool is_bad) const {
    const auto format = optimizer_case().options.find("gradients");
    std::vector<float> values = test::random_gradient(d, communicator_->rank(), ends_by_itself() ? 1 : t);
    if (is_bad && communicator_->rank() == communicator_->size() - 1) values[7] = NAN;
    return test::to_gradient(
        format == optimizer_case().options.end() ? "float32" : std::get<std::string>(format->second), values);
  }

  /// The events from number `first` on, after each of which `happened` is called, and a flush.
  Course run(
      Optimizer& optimizer, const Vector<float>& parameters, std::size_t first,
      const std::function<void(std::size_t)>& happened = [](std::size_t) {}) const {
    Course course;
    const std::vector<Event> all = events();
    for (std::size_t k = first; k < all.size(); ++k) {
      if (all[k] == Event::flush) {
        optimizer.flush(exec_, parameters);
      } else if (all[k] == Event::set) {
        // The later one also a learning rate, so that earlier ones stay the case's.
        const auto t = static_cast<double>(optimizer.steps_taken());
        optimizer.set({{"weight_decay", 0.003 * t}, {"clip_norm", 20.0}});
        if (t > 12.0) optimizer.set({{"lr", 0.004}});
        if (GetParam().has_groups) optimizer.set_group("b", 0.05 * t, 0.01 * t);
      } else {
        course.results.push_back(optimizer.step(
            exec_, parameters, gradient(optimizer.steps_taken() + 1, all[k] == Event::bad_step)));
      }
      exec_.fence();
      happened(k);
    }
    course.parameters = test::to_host(parameters);
    course.plan = optimizer.traffic_plan();
    course.health = optimizer.health(exec_);
    optimizer.flush(exec_, parameters);
    exec_.fence();
    course.flushed = test::to_host(parameters);
    return course;
  }

  /// Of the checkpoint after event number k - 1: two may be of the same step.
  [[nodiscard]] std::filesystem::path folder_of(std::size_t k) const {
    return folder_.path() / std::to_string(k);
  }

  static MpiOptions mpi_options() {
    return test::mpi_options(Staging::automatic,
                             test::divides_ranks(ranks_per_node()) ? ranks_per_node() : 1);
  }

  const ExecutionSpace exec_;
  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD, mpi_options());
  test::SharedFolder folder_;
};

TEST_P(ResumeTest, ContinuesToTheLastBit) {
  if (!test::divides_ranks(ranks_per_node())) GTEST_SKIP() << "nodes of two need an even number of ranks";
  const std::vector<float> start = test::random_vector(d, 2);
  const Course expected = run(*make(), test::to_device(start), 0);
  if (ends_by_itself()) {
    EXPECT_STREQ(expected.results.front().phase, "warm-up");
    EXPECT_STREQ(expected.results.back().phase, "compressed");
  }

  // What there was at each checkpoint. The first is made before any step.
  struct Moment {
    std::vector<float> parameters;
    std::int64_t steps = 0;
    Health health;
    checkpoint::MemoryState state = {};
  };
  std::vector<Moment> moments(events().size() + 1);
  const auto saved = make();
  const auto x = test::to_device(start);
  const auto save = [&](std::size_t k) {
    if (k % GetParam().stride != 0) return;
    moments[k] = {test::to_host(x), saved->steps_taken(), saved->health(exec_),
                  checkpoint::save_in_memory(exec_, *saved, x)};
    (void)checkpoint::save(exec_, *saved, x, folder_of(k), {}, 0);
  };
  save(0);
  expect_equal_end(run(*saved, x, 0, [&](std::size_t k) { save(k + 1); }), expected);
  const auto failed = [&] { return communicator_->sum_over_ranks(HasFailure() ? 1.0 : 0.0) > 0.0; };
  ASSERT_FALSE(failed()) << "saving changed something";

  for (std::size_t k = 0; k < moments.size(); k += GetParam().stride) {
    SCOPED_TRACE(testing::Message() << "before event " << k << ", after step " << moments[k].steps);
    const auto optimizer = make();
    const auto parameters = test::to_device(std::vector<float>(start.size(), 1e30F));
    const Vector<Bfloat16> model("model", start.size());
    const auto restored = checkpoint::restore_newest(exec_, *optimizer, {parameters, model}, folder_of(k));
    ASSERT_TRUE(restored.has_value());
    EXPECT_EQ(restored->step, moments[k].steps);
    EXPECT_EQ(optimizer->steps_taken(), moments[k].steps);
    EXPECT_EQ(optimizer->steps_skipped(), moments[k].health.skipped_steps);
    EXPECT_TRUE(test::bitwise_equal(test::to_host(parameters), moments[k].parameters));
    EXPECT_EQ(test::differs(model, parameters), 0U);
    expect_equal_state(optimizer->health(exec_), moments[k].health);
    const auto from_memory = make();
    const auto y = test::to_device(std::vector<float>(start.size(), 1e30F));
    checkpoint::restore_from_memory(exec_, *from_memory, y, moments[k].state);
    const checkpoint::MemoryState again = checkpoint::save_in_memory(exec_, *from_memory, y);
    // LoCo describes errors of 0 after a state that owes nothing.
    for (const auto& [word, text] : moments[k].state.words) EXPECT_EQ(again.words.at(word), text) << word;
    for (const auto& [name, values] : moments[k].state.vectors)
      EXPECT_TRUE(are_equal(again.vectors.at(name), values))
          << "another '" << name << "' came back from memory";
    expect_equal_end(
        k / GetParam().stride % 2 == 0 ? run(*optimizer, parameters, k) : run(*from_memory, y, k), expected);
    if (failed()) return;  // all ranks together
  }
}

std::string title(const testing::TestParamInfo<Setting>& test_info) {
  const Setting& setting = test_info.param;
  return setting.of.title + (setting.ranks_per_node > 1 ? "_two_levels" : "") +
         (setting.has_groups ? "_groups" : "");
}

std::vector<Setting> settings(const std::vector<OptimizerCase>& cases, const Setting& common) {
  std::vector<Setting> all;
  for (const OptimizerCase& one : cases) {
    all.push_back(common);
    all.back().of = one;
  }
  return all;
}

/// Warm-ups that end when the variance has settled: at step 10, for the gradients of these.
std::vector<OptimizerCase> automatic_cases() {
  const OptionMap options = {{"warmup_steps", "auto"}, {"beta2", 0.8}, {"lr", 0.01}};
  std::vector<OptimizerCase> cases;
  for (const std::string& name : test::optimizers_that_take(options)) {
    cases.push_back({name + "_auto", name, options});
  }
  return cases;
}

/// One of each algorithm and kind of state, with a weight decay that a group may have or not.
std::vector<OptimizerCase> group_cases() {
  std::vector<OptimizerCase> cases = test::cases_for(test::Part::groups);
  for (OptimizerCase& one : cases) one.options["weight_decay"] = 0.05;
  return cases;
}

/// After each event for every algorithm, and for what they add to their state.
std::vector<Setting> all_settings() {
  std::set<std::string> closely;
  for (const OptimizerCase& one : test::cases_for(test::Part::every_event)) closely.insert(one.title);
  std::vector<Setting> all = settings(test::optimizer_cases(), {});
  for (Setting& setting : all) setting.stride = closely.contains(setting.of.title) ? 1 : setting.stride;
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllOptimizers, ResumeTest, testing::ValuesIn(all_settings()), title);
INSTANTIATE_TEST_SUITE_P(AutomaticWarmups, ResumeTest,
                         testing::ValuesIn(settings(automatic_cases(), {.stride = 1})), title);
INSTANTIATE_TEST_SUITE_P(TwoLevels, ResumeTest,
                         testing::ValuesIn(settings(test::cases_for(test::Part::two_levels),
                                                    {.ranks_per_node = 2})),
                         title);
INSTANTIATE_TEST_SUITE_P(Formats, ResumeTest,
                         testing::ValuesIn(settings(test::format_cases(), {.stride = 4})), title);
INSTANTIATE_TEST_SUITE_P(Groups, ResumeTest, testing::ValuesIn(settings(group_cases(), {.has_groups = true})),
                         title);
INSTANTIATE_TEST_SUITE_P(GroupsInTwoLevels, ResumeTest,
                         testing::ValuesIn(settings(group_cases(),
                                                    {.ranks_per_node = 2, .has_groups = true})),
                         title);

/// How many steps lie between background exchanges is measured in the first of them: whoever goes on after
/// that takes the number over, and does not measure again.
TEST(ResumeAutomaticBackground, KeepsTheStepsThatWereChosen) {
  const ExecutionSpace exec;
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD);
  if (communicator->size() == 1) GTEST_SKIP() << "one rank exchanges nothing, and chooses nothing";
  const test::SharedFolder folder;
  const std::int64_t warmup = 2;
  const auto make = [&] {
    return make_optimizer("divisible_adam",
                          {{"warmup_steps", warmup}, {"background_steps", "auto"}, {"density", 0.05}}, layout,
                          communicator);
  };
  const auto background = [](const Optimizer& optimizer) {
    const std::vector<PlannedTraffic> plan = optimizer.traffic_plan();
    const auto found = std::find_if(plan.begin(), plan.end(), [](const PlannedTraffic& part) {
      return part.traffic == Traffic::background;
    });
    return std::pair(found->every, found->after);
  };
  const auto train = [&](Optimizer& optimizer, const Vector<float>& x, std::int64_t steps) {
    for (std::int64_t k = 0; k < steps; ++k) {
      const auto g = test::random_gradient(d, communicator->rank(), optimizer.steps_taken() + 1);
      (void)optimizer.step(exec, x, test::to_device(g));
    }
    exec.fence();
  };
  const auto restored = [&](const Vector<float>& y) {
    auto optimizer = make();
    EXPECT_TRUE(checkpoint::restore_newest(exec, *optimizer, y, folder.path()).has_value());
    return optimizer;
  };
  const auto optimizer = make();
  const auto x = test::to_device(test::random_vector(d, 2));
  const auto y = test::to_device(test::random_vector(d, 3));
  // Nothing is chosen yet: whoever goes on does so, at the second exchange.
  train(*optimizer, x, warmup + 5);
  (void)checkpoint::save(exec, *optimizer, x, folder.path());
  const auto early = restored(y);
  EXPECT_EQ(background(*early), std::pair(std::int64_t{4}, warmup));
  train(*early, y, 3 + 4);
  EXPECT_GT(background(*early).second, warmup);

  train(*optimizer, x, 3);
  const auto chosen = background(*optimizer);
  EXPECT_EQ(chosen.second, warmup + 8);
  (void)checkpoint::save(exec, *optimizer, x, folder.path());
  const auto late = restored(y);
  EXPECT_EQ(background(*late), chosen);
  // Two more exchanges, of which the second would measure; of a machine that is very slow, none.
  const std::int64_t more = std::min<std::int64_t>(2 * chosen.first + 1, 400);
  train(*optimizer, x, more);
  train(*late, y, more);
  EXPECT_EQ(background(*late), chosen);
  EXPECT_TRUE(test::bitwise_equal(test::to_host(y), test::to_host(x)));
}

}  // namespace
}  // namespace kadam::resume_test
