// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/checkpoint/memory_state.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/io/tensor_file.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/shared_folder.hpp>
#include <support/smallest_options.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// Moments that are divided over ranks are saved once, and go on undivided, divided otherwise, and under
/// another algorithm, as if they had never been divided.
namespace kadam::sharded_checkpoint_test {
namespace {

/// The shorter one is all in the first shard.
const std::vector<TensorLayout> layouts = {TensorLayout({{"a", 0, 500, {20, 25}}, {"b", 500, 1500}}),
                                           TensorLayout({{"a", 0, 40}, {"b", 40, 100}})};
constexpr std::int64_t steps_before = 5;
constexpr std::int64_t steps_after = 4;

/// How moments lie: whether they are divided, and the ranks of a node; 0: all.
struct Division {
  bool divides = false;
  int ranks_per_node = 1;
};

class ShardedCheckpoint : public testing::Test {
 protected:
  [[nodiscard]] static std::vector<Division> divisions() {
    std::vector<Division> all = {{false, 1}, {true, 1}, {false, 0}, {true, 0}};
    if (test::divides_ranks(2)) all.insert(all.end(), {{false, 2}, {true, 2}});
    return all;
  }
  [[nodiscard]] std::unique_ptr<Optimizer> make(const Division& division, const TensorLayout& layout,
                                                const std::string& name = "adam") const {
    OptionMap options = test::options_with_warmup(name, 6);
    options["weight_decay"] = 0.1;
    if (division.divides) options["shard_state"] = true;
    const int all = world_->size();
    const int ranks_per_node = division.ranks_per_node == 0 ? all : division.ranks_per_node;
    return make_optimizer(
        name, options, layout,
        make_mpi_communicator(MPI_COMM_WORLD, test::mpi_options(Staging::automatic, ranks_per_node)));
  }
  /// Ranks have the same gradients: their mean is the same in all levels.
  void train(Optimizer& optimizer, const Vector<float>& x, std::int64_t first, std::int64_t last) const {
    for (std::int64_t t = first; t <= last; ++t) {
      const auto g = test::to_device(test::random_gradient(optimizer.layout().elements(), 0, t));
      (void)optimizer.step(exec_, x, g);
    }
    exec_.fence();
  }
  [[nodiscard]] static Vector<float> start(const TensorLayout& layout) {
    return test::to_device(test::random_vector(layout.elements(), 2));
  }

  const ExecutionSpace exec_;
  const std::shared_ptr<Communicator> world_ = make_mpi_communicator(MPI_COMM_WORLD);
};

TEST_F(ShardedCheckpoint, GoesOnHoweverItIsDivided) {
  for (const TensorLayout& layout : layouts) {
    for (const Division& from : divisions()) {
      const test::SharedFolder folder;
      const auto saved = make(from, layout);
      const auto x = start(layout);
      train(*saved, x, 1, steps_before);
      (void)checkpoint::save(exec_, *saved, x, folder.path());
      train(*saved, x, steps_before + 1, steps_before + steps_after);
      for (const Division& to : divisions()) {
        SCOPED_TRACE(testing::Message()
                     << layout.elements() << ": " << from.divides << " in nodes of " << from.ranks_per_node
                     << " to " << to.divides << " in nodes of " << to.ranks_per_node);
        const auto resumed = make(to, layout);
        const auto y = test::to_device(std::vector<float>(x.size(), 1e30F));
        ASSERT_TRUE(checkpoint::restore_newest(exec_, *resumed, y, folder.path()).has_value());
        train(*resumed, y, steps_before + 1, steps_before + steps_after);
        EXPECT_TRUE(test::bitwise_equal(test::to_host(y), test::to_host(x)));
      }
    }
  }
}

TEST_F(ShardedCheckpoint, HoldsEachElementOnce) {
  for (const TensorLayout& layout : layouts) {
    for (const Division& division : divisions()) {
      const test::SharedFolder folder;
      const auto optimizer = make(division, layout);
      const auto x = start(layout);
      train(*optimizer, x, 1, 1);
      const std::filesystem::path path = checkpoint::save(exec_, *optimizer, x, folder.path());
      for (const std::string name : {"m", "v", "parameters"}) {
        std::int64_t elements = 0;
        for (const auto& file : std::filesystem::directory_iterator(path)) {
          if (!file.path().filename().string().starts_with("state-")) continue;
          const io::TensorFile tensors(file.path());
          for (const io::StoredTensor& tensor : tensors.tensors())
            elements += tensor.name == name ? tensor.elements : 0;
        }
        EXPECT_EQ(elements, layout.elements())
            << name << ", divided: " << division.divides << ", nodes of " << division.ranks_per_node;
      }
    }
  }
}

TEST_F(ShardedCheckpoint, AnotherAlgorithmGoesOnFromIt) {
  const TensorLayout& layout = layouts.front();
  for (const std::string name : {"lamb", "onebit_adam", "locally_accumulated_adam"}) {
    for (const Division& division : divisions()) {
      std::vector<std::vector<float>> ends;
      for (const bool divides : {false, true}) {
        const test::SharedFolder folder;
        const auto adam = make({divides, division.ranks_per_node}, layout);
        const auto x = start(layout);
        train(*adam, x, 1, steps_before);
        (void)checkpoint::save(exec_, *adam, x, folder.path());
        const auto other = make({false, division.ranks_per_node}, layout, name);
        const auto y = test::to_device(std::vector<float>(x.size(), 1e30F));
        ASSERT_TRUE(checkpoint::restore_newest(exec_, *other, y, folder.path()).has_value());
        train(*other, y, steps_before + 1, steps_before + steps_after);
        ends.push_back(test::to_host(y));
      }
      EXPECT_TRUE(test::bitwise_equal(ends.front(), ends.back())) << name;
    }
  }
}

TEST_F(ShardedCheckpoint, TakesOverFromAnotherAlgorithm) {
  const TensorLayout& layout = layouts.front();
  for (const Division& division : divisions()) {
    const test::SharedFolder folder;
    const auto lamb = make({false, division.ranks_per_node}, layout, "lamb");
    const auto x = start(layout);
    train(*lamb, x, 1, steps_before);
    (void)checkpoint::save(exec_, *lamb, x, folder.path());
    std::vector<std::vector<float>> ends;
    for (const bool divides : {false, true}) {
      const auto adam = make({divides, division.ranks_per_node}, layout);
      const auto y = test::to_device(std::vector<float>(x.size(), 1e30F));
      ASSERT_TRUE(checkpoint::restore_newest(exec_, *adam, y, folder.path()).has_value());
      train(*adam, y, steps_before + 1, steps_before + steps_after);
      ends.push_back(test::to_host(y));
    }
    EXPECT_TRUE(test::bitwise_equal(ends.front(), ends.back()));
  }
}

/// A state in memory goes back to where it came from alone.
TEST_F(ShardedCheckpoint, InMemoryGoesBackToTheSame) {
  const TensorLayout& layout = layouts.front();
  const auto divided = make({true, 1}, layout);
  const auto x = start(layout);
  train(*divided, x, 1, steps_before);
  const checkpoint::MemoryState state = checkpoint::save_in_memory(exec_, *divided, x);
  train(*divided, x, steps_before + 1, steps_before + steps_after);
  const std::vector<float> wanted = test::to_host(x);
  checkpoint::restore_from_memory(exec_, *divided, x, state);
  train(*divided, x, steps_before + 1, steps_before + steps_after);
  EXPECT_TRUE(test::bitwise_equal(test::to_host(x), wanted));
  if (world_->size() == 1) return;
  const auto whole = make({false, 1}, layout);
  EXPECT_THROW(checkpoint::restore_from_memory(exec_, *whole, x, state), std::runtime_error);
}

}  // namespace
}  // namespace kadam::sharded_checkpoint_test
