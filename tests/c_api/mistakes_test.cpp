// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <c_api/c_optimizer.hpp>
#include <cmath>
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
  refuses("-3 elements", [](kadam_setup* s) { kadam_setup_tensor(s, "z", -3); });
  refuses("nowhere", [](kadam_setup* s) { kadam_setup_group(s, "nowhere*", 1.0, NAN, 0); });
  refuses("auto, on or off", [](kadam_setup* s) { kadam_setup_gpu_aware(s, "perhaps"); });
  refuses("NULL", [](kadam_setup* s) { kadam_setup_real(s, nullptr, 1.0); });
  refuses("NULL", [](kadam_setup* s) { kadam_setup_text(s, "lr", nullptr); });
  refuses("NULL", [](kadam_setup* s) { kadam_setup_reals(s, "lr", 2, nullptr); });
  refuses("bytes", [](kadam_setup* s) { kadam_setup_piece_bytes(s, 0); });
  // The first of several.
  refuses("-1 elements", [](kadam_setup* s) {
    kadam_setup_tensor(s, "z", -1);
    kadam_setup_gpu_aware(s, "perhaps");
  });
}

TEST(CMistakes, OfOneRankEndOnAll) {
  if (world_size() == 1) GTEST_SKIP() << "needs two ranks";
  const kadam_status elsewhere = world_rank() == 1 ? KADAM_INVALID_ARGUMENT : KADAM_PEER_FAILURE;
  COptimizer of("adam", {{"lr", 0.01}});
  if (world_rank() == 1) kadam_setup_tensor(of.setup, "z", -3);
  EXPECT_EQ(of.create(MPI_COMM_WORLD), elsewhere) << of.error.text;
  COptimizer other("adam", {{"lr", world_rank() == 1 ? 0.01 : 0.02}});
  EXPECT_NE(other.create(MPI_COMM_WORLD), KADAM_SUCCESS);
  EXPECT_NE(std::string(other.error.text).find("options"), std::string::npos) << other.error.text;
}

TEST(CMistakes, UnknownOptimizerListsWhatThereIs) {
  COptimizer of("no_adam", {});
  EXPECT_EQ(of.create(MPI_COMM_WORLD), KADAM_INVALID_ARGUMENT);
  EXPECT_NE(std::string(of.error.text).find("divisible_adam"), std::string::npos) << of.error.text;
}

TEST(CMistakes, NullIsNoOptimizer) {
  kadam_error error{};
  float x = 0.0F;
  EXPECT_EQ(kadam_step(nullptr, &x, &x, nullptr, &error), KADAM_INVALID_ARGUMENT);
  EXPECT_STREQ(error.text, "the optimizer is NULL");
  EXPECT_EQ(kadam_create_alone(nullptr, nullptr, &error), KADAM_INVALID_ARGUMENT);
  EXPECT_EQ(kadam_create(nullptr, MPI_COMM_WORLD, nullptr, nullptr), KADAM_INVALID_ARGUMENT);
  kadam_optimizer* none = nullptr;
  EXPECT_EQ(kadam_create_alone(nullptr, &none, &error), KADAM_INVALID_ARGUMENT);
  EXPECT_STREQ(error.text, "the setup is NULL");
  EXPECT_EQ(kadam_destroy(&none, nullptr), KADAM_SUCCESS);
  EXPECT_STREQ(kadam_words(nullptr), "");
  kadam_setup_destroy(nullptr);
  kadam_setup_real(nullptr, "lr", 1.0);
}

TEST(CMistakes, OfCallsChangeNothing) {
  COptimizer of("adam", {{"lr", 0.01}});
  const auto elements = static_cast<std::size_t>(c_layout.elements());
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS);
  std::vector<float> x(elements, 1.0F);
  EXPECT_EQ(kadam_step(of.optimizer, nullptr, x.data(), nullptr, &of.error), KADAM_INVALID_ARGUMENT);
  EXPECT_NE(std::string(of.error.text).find("parameters is NULL"), std::string::npos) << of.error.text;
  EXPECT_EQ(kadam_step(of.optimizer, x.data(), nullptr, nullptr, &of.error), KADAM_INVALID_ARGUMENT);
  EXPECT_EQ(kadam_set_model(of.optimizer, x.data(), KADAM_FLOAT32, &of.error), KADAM_INVALID_ARGUMENT);
  EXPECT_EQ(kadam_gradient_ready(of.optimizer, x.data(), 5, 1 << 20, &of.error), KADAM_INVALID_ARGUMENT);
  kadam_statistics statistics{};
  ASSERT_EQ(kadam_get_statistics(of.optimizer, &statistics, nullptr), KADAM_SUCCESS);
  EXPECT_EQ(statistics.steps_taken, 0);
  ASSERT_EQ(kadam_step(of.optimizer, x.data(), x.data(), nullptr, &of.error), KADAM_SUCCESS) << of.error.text;
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
