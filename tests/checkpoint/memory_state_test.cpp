// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/checkpoint/memory_state.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <kadam/optim/make_optimizer.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <stdexcept>

/// Whom a state in memory is not of. That it brings everything back is tested where checkpoints are (resume).
namespace kadam::checkpoint {
namespace {

class MemoryStateTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<Optimizer> make(const std::string& name, std::int64_t d,
                                                const std::string& tensor = "x", double lr = 0.01) const {
    return make_optimizer(name, {{"lr", lr}}, TensorLayout({{tensor, 0, d}}), communicator_);
  }

  MemoryState trained() const {
    const auto optimizer = make("efficient_adam", 100);
    const auto x = test::to_device(test::random_vector(100, 2));
    (void)optimizer->step(exec_, x, test::to_device(test::random_gradient(100, communicator_->rank(), 1)));
    return save_in_memory(exec_, *optimizer, x);
  }

  /// Throws with these words on ranks whose state is wrong, with others elsewhere.
  void refuses(const std::string& words, Optimizer& optimizer, const MemoryState& state,
               bool is_wrong = true) {
    const Vector<float> x("x", static_cast<std::size_t>(optimizer.layout().elements()));
    try {
      restore_from_memory(exec_, optimizer, x, state);
      ADD_FAILURE() << "was taken; expected: " << words;
    } catch (const PeerFailure&) {
      EXPECT_FALSE(is_wrong);
    } catch (const std::runtime_error& error) {
      EXPECT_TRUE(is_wrong) << error.what();
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
  }

  const ExecutionSpace exec_;
  std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
};

TEST_F(MemoryStateTest, GoesBackToItsOwnOptimizerAlone) {
  const MemoryState state = trained();
  refuses("it has optimizer 'efficient_adam', this optimizer has 'adam'", *make("adam", 100), state);
  refuses("it has elements '100', this optimizer has '101'", *make("efficient_adam", 101), state);
  refuses("it has tensors", *make("efficient_adam", 100, "y"), state);
  MemoryState other = state;
  other.words["ranks"] = "17";
  refuses("it has ranks '17'", *make("efficient_adam", 100), other);
}

TEST_F(MemoryStateTest, ThatLacksSomethingIsRefusedOnAllRanks) {
  const bool is_last = communicator_->rank() == communicator_->size() - 1;
  MemoryState state = trained();
  const MemoryState whole = state;
  if (is_last) state.vectors.erase("m");
  refuses("has no 'm'", *make("efficient_adam", 100), state, is_last);
  state = whole;
  if (is_last) state.vectors["m"].resize(396);
  refuses("its vector 'm' has another place among the ranks, or another length", *make("efficient_adam", 100),
          state, is_last);
  state = whole;
  if (is_last) state.words.erase("number.step");
  refuses("has no 'step'", *make("efficient_adam", 100), state, is_last);
}

TEST_F(MemoryStateTest, GoesOnWithOtherOptions) {
  const auto optimizer = make("efficient_adam", 100, "x", 0.5);
  const Vector<float> x("x", 100);
  restore_from_memory(exec_, *optimizer, x, trained());
  const auto g = test::to_device(test::random_gradient(100, communicator_->rank(), 2));
  EXPECT_EQ(optimizer->step(exec_, x, g).step, 2);
}

}  // namespace
}  // namespace kadam::checkpoint
