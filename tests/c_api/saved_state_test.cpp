// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <c_api/c_optimizer.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/shared_folder.hpp>
#include <support/smallest_options.hpp>

#include <fstream>

/// Through C: saved, restored, and on to the same bits.
namespace kadam::test {
namespace {

void take_steps(COptimizer& of, std::vector<float>& x, std::int64_t first, std::int64_t last) {
  for (std::int64_t t = first; t <= last; ++t) {
    const std::vector<float> gradient = random_gradient(c_layout.elements(), world_rank(), t);
    ASSERT_EQ(kadam_step(of.optimizer, x.data(), gradient.data(), nullptr, &of.error), KADAM_SUCCESS)
        << of.error.text;
  }
}

OptionMap saved_options() {
  OptionMap options = options_with_warmup("onebit_adam", 3);
  options["lr"] = 0.01;
  return options;
}

TEST(CSavedState, GoesOnToTheLastBit) {
  const SharedFolder folder;
  const std::string path = (folder.path() / "saved").string();
  COptimizer first("onebit_adam", saved_options());
  ASSERT_EQ(first.create(MPI_COMM_WORLD), KADAM_SUCCESS);
  std::vector<float> x = random_vector(c_layout.elements(), 7);
  EXPECT_EQ(kadam_load_newest(first.optimizer, x.data(), path.c_str(), nullptr, nullptr),
            KADAM_NO_CHECKPOINT);
  take_steps(first, x, 1, 5);
  ASSERT_EQ(kadam_save(first.optimizer, x.data(), path.c_str(), 2, "at batch 17", &first.error),
            KADAM_SUCCESS)
      << first.error.text;
  take_steps(first, x, 6, 10);

  COptimizer second("onebit_adam", saved_options());
  ASSERT_EQ(second.create(MPI_COMM_WORLD), KADAM_SUCCESS);
  std::vector<float> y(x.size());
  std::int64_t step = 0;
  ASSERT_EQ(kadam_load_newest(second.optimizer, y.data(), path.c_str(), &step, &second.error), KADAM_SUCCESS)
      << second.error.text;
  EXPECT_EQ(step, 5);
  EXPECT_STREQ(kadam_words(second.optimizer), "at batch 17");
  take_steps(second, y, 6, 10);
  EXPECT_TRUE(bitwise_equal(x, y));
}

/// Words are those of the checkpoint that was loaded last, and of none that were there before.
TEST(CSavedState, HasTheWordsOfItsCheckpointAlone) {
  const SharedFolder folder;
  const std::string path = folder.path().string();
  COptimizer of("onebit_adam", saved_options());
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS);
  EXPECT_STREQ(kadam_words(of.optimizer), "");
  std::vector<float> x = random_vector(c_layout.elements(), 7);
  take_steps(of, x, 1, 1);
  ASSERT_EQ(kadam_save(of.optimizer, x.data(), path.c_str(), 0, "of the first", nullptr), KADAM_SUCCESS);
  EXPECT_STREQ(kadam_words(of.optimizer), "");  // nothing was loaded
  take_steps(of, x, 2, 2);
  ASSERT_EQ(kadam_save(of.optimizer, x.data(), path.c_str(), 0, nullptr, nullptr), KADAM_SUCCESS);
  const std::string first = path + "/step-000000000001";
  ASSERT_EQ(kadam_load(of.optimizer, x.data(), first.c_str(), nullptr, &of.error), KADAM_SUCCESS)
      << of.error.text;
  EXPECT_STREQ(kadam_words(of.optimizer), "of the first");
  std::int64_t step = 0;
  ASSERT_EQ(kadam_load_newest(of.optimizer, x.data(), path.c_str(), &step, &of.error), KADAM_SUCCESS)
      << of.error.text;
  EXPECT_EQ(step, 2);
  EXPECT_STREQ(kadam_words(of.optimizer), "");
}

TEST(CSavedState, IsRefusedInWordsWhereItIsBroken) {
  const SharedFolder folder;
  const std::string path = (folder.path() / "saved").string();
  COptimizer of("onebit_adam", saved_options());
  ASSERT_EQ(of.create(MPI_COMM_WORLD), KADAM_SUCCESS);
  std::vector<float> x = random_vector(c_layout.elements(), 7);
  take_steps(of, x, 1, 2);
  ASSERT_EQ(kadam_save(of.optimizer, x.data(), path.c_str(), 2, nullptr, nullptr), KADAM_SUCCESS);
  const int rank = world_rank();
  const auto file = folder.path() / "saved" / "step-000000000002" / "state-0-of-";
  if (rank == 0) {
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::ofstream(file.string() + std::to_string(size) + ".safetensors", std::ios::app) << "more";
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const std::string step = path + "/step-000000000002";
  const kadam_status status = kadam_load(of.optimizer, x.data(), step.c_str(), nullptr, &of.error);
  // The rank that reads the file says which; the others, that it has failed.
  EXPECT_EQ(status, rank == 0 ? KADAM_FAILURE : KADAM_PEER_FAILURE);
  if (rank == 0) {
    EXPECT_NE(std::string(of.error.text).find("state-0-of-"), std::string::npos) << of.error.text;
  }
  EXPECT_EQ(kadam_save(of.optimizer, x.data(), nullptr, 2, nullptr, &of.error), KADAM_INVALID_ARGUMENT);
  EXPECT_STREQ(of.error.text, "kadam_save: the folder is NULL");
  EXPECT_EQ(kadam_save(of.optimizer, x.data(), path.c_str(), -1, nullptr, &of.error), KADAM_INVALID_ARGUMENT);
  EXPECT_STREQ(of.error.text, "kadam_save: expected to keep 0 (all) or more checkpoints, got -1");
  EXPECT_EQ(kadam_load(of.optimizer, x.data(), nullptr, nullptr, &of.error), KADAM_INVALID_ARGUMENT);
  EXPECT_STREQ(of.error.text, "kadam_load: the path of the checkpoint is NULL");
}

}  // namespace
}  // namespace kadam::test
