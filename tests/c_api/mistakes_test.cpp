// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <c_api/c_optimizer.hpp>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <vector>

/// What is wrong comes back as a status and a sentence, on every rank; nothing is thrown, printed or left
/// over.
namespace kadam::test {
namespace {

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// creating after `spoil` fails on all ranks with these words.
void refuses(const char* words, const std::function<void(kadam_setup*)>& spoil,
             kadam_status status = KADAM_INVALID_ARGUMENT) {
  COptimizer of("adam", {{"lr", 0.01}});
  spoil(of.setup);
  EXPECT_EQ(of.create(MPI_COMM_WORLD), status) << words;
  EXPECT_EQ(of.error.status, status);
  EXPECT_NE(std::string(of.error.text).find(words), std::string::npos) << of.error.text;
  EXPECT_EQ(of.optimizer, nullptr);
}

TEST(CMistakes, AreSaidWhenAnOptimizerIsMade) {
  refuses("lr", [](kadam_setup* s) { kadam_setup_real(s, "lr", -1.0); });
  refuses("no_such_option", [](kadam_setup* s) { kadam_setup_flag(s, "no_such_option", 1); });
  refuses("beta2", [](kadam_setup* s) { kadam_setup_text(s, "beta2", "large"); });
  refuses("weights", [](kadam_setup* s) { kadam_setup_tensor(s, "weights", 5); });
  refuses("nowhere", [](kadam_setup* s) { kadam_setup_group(s, "nowhere*", 1.0, NAN, 0); });
  refuses("kadam_setup_real: the name of an option is NULL",
          [](kadam_setup* s) { kadam_setup_real(s, nullptr, 1.0); });
  refuses("kadam_setup_integer: the name of an option is NULL",
          [](kadam_setup* s) { kadam_setup_integer(s, nullptr, 1); });
  refuses("kadam_setup_flag: the name of an option is NULL",
          [](kadam_setup* s) { kadam_setup_flag(s, nullptr, 1); });
  refuses("kadam_setup_text: the text of an option is NULL",
          [](kadam_setup* s) { kadam_setup_text(s, "lr", nullptr); });
  refuses("kadam_setup_reals: the values of an option is NULL",
          [](kadam_setup* s) { kadam_setup_reals(s, "lr", 2, nullptr); });
  refuses("kadam_setup_reals: expected a count of 0 or more, got -1",
          [](kadam_setup* s) { kadam_setup_reals(s, "lr", -1, nullptr); });
  refuses("kadam_setup_tensor: the name of a tensor is NULL",
          [](kadam_setup* s) { kadam_setup_tensor(s, nullptr, 3); });
  refuses("kadam_setup_tensor: tensor z has -3 elements; expected 0 or more",
          [](kadam_setup* s) { kadam_setup_tensor(s, "z", -3); });
  refuses("kadam_setup_group: the pattern of a group is NULL",
          [](kadam_setup* s) { kadam_setup_group(s, nullptr, 1.0, NAN, 0); });
  refuses("kadam_setup_ranks_per_node: expected 0 or more ranks, got -2",
          [](kadam_setup* s) { kadam_setup_ranks_per_node(s, -2); });
  refuses("kadam_setup_gpu_aware: expected \"auto\", \"on\" or \"off\", got \"perhaps\"",
          [](kadam_setup* s) { kadam_setup_gpu_aware(s, "perhaps"); });
  refuses("kadam_setup_wire: expected \"mpi\" or \"tcp\", got \"ucx\"",
          [](kadam_setup* s) { kadam_setup_wire(s, "ucx"); });
  refuses("kadam_setup_piece_bytes: expected 0 (automatic) or more bytes, got -1",
          [](kadam_setup* s) { kadam_setup_piece_bytes(s, -1); });
  // The first of several.
  refuses("-1 elements", [](kadam_setup* s) {
    kadam_setup_tensor(s, "z", -1);
    kadam_setup_gpu_aware(s, "perhaps");
  });
}

TEST(CMistakes, OneRankOfSeveralTasksHasToBeMeant) {
  if (world_size() > 1) GTEST_SKIP() << "MPI sees them all";
  setenv("WORLD_SIZE", "7", 1);
  refuses("the launcher started 7 tasks (WORLD_SIZE)", [](kadam_setup*) {});
  COptimizer of("adam", {{"lr", 0.01}});
  kadam_setup_allow_alone(of.setup, 1);
  EXPECT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS) << of.error.text;
  unsetenv("WORLD_SIZE");
}

TEST(CMistakes, OfOneRankEndOnAll) {
  if (world_size() == 1) GTEST_SKIP() << "needs two ranks";
  const kadam_status elsewhere = world_rank() == 1 ? KADAM_INVALID_ARGUMENT : KADAM_PEER_FAILURE;
  COptimizer of("adam", {{"lr", 0.01}});
  if (world_rank() == 1) kadam_setup_tensor(of.setup, "z", -3);
  EXPECT_EQ(of.create(MPI_COMM_WORLD), elsewhere) << of.error.text;
  COptimizer other("adam", {{"lr", world_rank() == 1 ? 0.01 : 0.02}});
  EXPECT_NE(other.create(MPI_COMM_WORLD), KADAM_SUCCESS);
  EXPECT_NE(std::string(other.error.text).find("option 'lr' (0.02 and 0.01)"), std::string::npos)
      << other.error.text;
}

TEST(CMistakes, UnknownOptimizerListsWhatThereIs) {
  COptimizer of("no_adam", {});
  EXPECT_EQ(of.create(MPI_COMM_WORLD), KADAM_INVALID_ARGUMENT);
  EXPECT_NE(std::string(of.error.text).find("divisible_adam"), std::string::npos) << of.error.text;
}

TEST(CMistakes, NullIsNoOptimizer) {
  kadam_error error{};
  float x = 0.0F;
  std::int64_t step = 0;
  kadam_statistics statistics{};
  kadam_health health{};
  const auto refused = [&](kadam_status status, const std::string& call) {
    EXPECT_EQ(status, KADAM_INVALID_ARGUMENT) << call;
    EXPECT_EQ(error.text, call + ": the optimizer is NULL");
  };
  refused(kadam_step(nullptr, &x, &x, nullptr, &error), "kadam_step");
  refused(kadam_give_up_step(nullptr, &error), "kadam_give_up_step");
  refused(kadam_set(nullptr, "lr", 0.1, &error), "kadam_set");
  refused(kadam_set_group(nullptr, "weights", 1.0, NAN, &error), "kadam_set_group");
  refused(kadam_gradient_ready(nullptr, &x, 0, 1, &error), "kadam_gradient_ready");
  refused(kadam_progress(nullptr, &error), "kadam_progress");
  refused(kadam_raise(nullptr, 1, &error), "kadam_raise");
  refused(kadam_flush(nullptr, &x, &error), "kadam_flush");
  refused(kadam_consensus(nullptr, &x, &x, &error), "kadam_consensus");
  refused(kadam_wait(nullptr, &error), "kadam_wait");
  refused(kadam_set_stream(nullptr, nullptr, &error), "kadam_set_stream");
  refused(kadam_set_model(nullptr, &x, KADAM_FLOAT16, &error), "kadam_set_model");
  refused(kadam_get_statistics(nullptr, &statistics, &error), "kadam_get_statistics");
  refused(kadam_measure_phases(nullptr, 1, &error), "kadam_measure_phases");
  refused(kadam_get_health(nullptr, &health, &error), "kadam_get_health");
#ifdef KADAM_ENABLE_CHECKPOINT
  refused(kadam_save(nullptr, &x, "folder", 1, nullptr, &error), "kadam_save");
  refused(kadam_load(nullptr, &x, "folder", &step, &error), "kadam_load");
  refused(kadam_load_newest(nullptr, &x, "folder", &step, &error), "kadam_load_newest");
#endif
  EXPECT_EQ(kadam_create_alone(nullptr, nullptr, &error), KADAM_INVALID_ARGUMENT);
  EXPECT_EQ(kadam_create(nullptr, MPI_COMM_WORLD, nullptr, nullptr), KADAM_INVALID_ARGUMENT);
  kadam_optimizer* none = nullptr;
  EXPECT_EQ(kadam_create_alone(nullptr, &none, &error), KADAM_INVALID_ARGUMENT);
  EXPECT_STREQ(error.text, "kadam_create_alone: the setup is NULL");
  EXPECT_EQ(kadam_destroy(&none, nullptr), KADAM_SUCCESS);
  EXPECT_STREQ(kadam_words(nullptr), "");
  EXPECT_EQ(kadam_gradient_format(nullptr), KADAM_FLOAT32);
  kadam_setup_destroy(nullptr);
  kadam_setup_real(nullptr, "lr", 1.0);
}

TEST(CMistakes, OfCallsChangeNothing) {
  COptimizer of("adam", {{"lr", 0.01}});
  const auto elements = static_cast<std::size_t>(c_layout.elements());
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS);
  std::vector<float> x(elements, 1.0F);
  const auto refused = [&](kadam_status status, const char* words) {
    EXPECT_EQ(status, KADAM_INVALID_ARGUMENT) << words;
    EXPECT_NE(std::string(of.error.text).find(words), std::string::npos) << of.error.text;
  };
  refused(kadam_step(of.optimizer, nullptr, x.data(), nullptr, &of.error),
          "kadam_step: the array of parameters is NULL");
  refused(kadam_step(of.optimizer, x.data(), nullptr, nullptr, &of.error),
          "kadam_step: the array of the gradient is NULL");
  refused(kadam_flush(of.optimizer, nullptr, &of.error), "kadam_flush: the array of parameters is NULL");
  refused(kadam_consensus(of.optimizer, x.data(), nullptr, &of.error),
          "kadam_consensus: the array of parameters is NULL");
  refused(kadam_set_model(of.optimizer, x.data(), KADAM_FLOAT32, &of.error),
          "kadam_set_model: expected the format KADAM_BFLOAT16 (1) or KADAM_FLOAT16 (2), got 0");
  refused(kadam_set(of.optimizer, nullptr, 0.1, &of.error), "kadam_set: the name of an option is NULL");
  refused(kadam_set(of.optimizer, "beta1", 0.1, &of.error),
          "option 'beta1' cannot be set during training: only lr, weight_decay and clip_norm can");
  refused(kadam_set(of.optimizer, "lr", NAN, &of.error), "option 'lr': expected a number, 0 or more, got");
  refused(kadam_set_group(of.optimizer, nullptr, 1.0, NAN, &of.error),
          "kadam_set_group: the pattern of a group is NULL");
  refused(kadam_set_group(of.optimizer, "weights", 1.0, NAN, &of.error),
          "there is no parameter group 'weights': the optimizer was made without groups");
  refused(kadam_gradient_ready(of.optimizer, x.data(), 5, 1 << 20, &of.error),
          "gradient_ready (adam): the range [5, 1048576) does not lie within the 2003 elements");
  refused(kadam_get_statistics(of.optimizer, nullptr, &of.error),
          "kadam_get_statistics: the place for statistics is NULL");
  refused(kadam_get_health(of.optimizer, nullptr, &of.error),
          "kadam_get_health: the place for the figures is NULL");
  kadam_statistics statistics{};
  ASSERT_EQ(kadam_get_statistics(of.optimizer, &statistics, nullptr), KADAM_SUCCESS);
  EXPECT_EQ(statistics.steps_taken, 0);
  refused(kadam_step(of.optimizer, x.data(), x.data(), nullptr, &of.error),
          "overlaps the memory of the parameters, which the step writes: pass a View of other memory");
  const std::vector<float> gradient(x.size(), 0.5F);
  ASSERT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), nullptr, &of.error), KADAM_SUCCESS)
      << of.error.text;
  EXPECT_STREQ(of.error.text, "");
#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP)
  EXPECT_EQ(kadam_set_stream(of.optimizer, nullptr, &of.error), KADAM_NOT_BUILT);
#endif
}

TEST(CMistakes, LongTextsAreCut) {
  const std::string name(3000, 'x');
  COptimizer of(name, {});
  EXPECT_EQ(of.create(MPI_COMM_WORLD), KADAM_INVALID_ARGUMENT);
  EXPECT_EQ(std::string(of.error.text).size(), static_cast<std::size_t>(KADAM_ERROR_LENGTH) - 1);
}

TEST(CMistakes, KokkosRunsOnce) {
  EXPECT_EQ(kadam_kokkos_initialize(1, nullptr), KADAM_NOT_READY);
}

}  // namespace
}  // namespace kadam::test
