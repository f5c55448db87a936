// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "version_0.1/run.hpp"
#include <kadam/checkpoint/checkpoint.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/host_views.hpp>
#include <support/mpi_world.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

/// Checkpoints that an earlier version of Kadam wrote: this version goes on from them.
namespace kadam::earlier_version_test {
namespace {

class EarlierVersion : public testing::TestWithParam<version_0_1::Run> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(folder().parent_path().parent_path()))
      GTEST_SKIP() << "the sources of the tests, with the checkpoints, are not on this machine";
  }
  [[nodiscard]] std::unique_ptr<Optimizer> make() const {
    return make_optimizer(GetParam().optimizer, GetParam().options, version_0_1::layout(), communicator_,
                          version_0_1::groups());
  }
  [[nodiscard]] static std::filesystem::path folder() {
    return std::filesystem::path(KADAM_TEST_VERSION_0_1_FOLDER) / GetParam().optimizer;
  }
  /// The checkpoint after so many steps, as its writer named it.
  [[nodiscard]] static std::filesystem::path checkpoint_after(std::int64_t step) {
    const std::string digits = std::to_string(step);
    return folder() / ("step-" + std::string(12 - digits.size(), '0') + digits);
  }
  /// Parameters after the steps between the two checkpoints, with the optimizer's state as it is.
  [[nodiscard]] std::vector<float> go_on(Optimizer& optimizer, const Vector<float>& x) const {
    const int rank = communicator_->rank();
    for (std::int64_t t = version_0_1::first_step + 1; t <= version_0_1::last_step; ++t) {
      std::vector<float> values = test::to_host(x);
      for (std::int64_t i = 0; i < version_0_1::d; ++i) {
        float& value = values[static_cast<std::size_t>(i)];
        value = version_0_1::gradient(i, t, rank, value);
      }
      optimizer.step(exec_, x, test::to_device(values));
      exec_.fence();
    }
    return test::to_host(x);
  }

  const ExecutionSpace exec_;
  const std::shared_ptr<Communicator> communicator_ = make_mpi_communicator(MPI_COMM_WORLD);
};

/// |a - b| over |b - c|, in the Euclidean norm.
double relative_distance(const std::vector<float>& a, const std::vector<float>& b,
                         const std::vector<float>& c) {
  double apart = 0.0;
  double moved = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    apart += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    moved += std::pow(static_cast<double>(b[i]) - static_cast<double>(c[i]), 2);
  }
  return std::sqrt(apart / moved);
}

/// As many ranks as wrote it take the steps that its writer took. A sum in another order may turn a sign
/// whose value is nearly 0, which moves one coordinate by one step.
TEST_P(EarlierVersion, GoesOnAsItsWriterDid) {
  if (communicator_->size() != 2) GTEST_SKIP() << "two ranks wrote it";
  const auto optimizer = make();
  const Vector<float> x("x", version_0_1::d);
  const checkpoint::Restored restored =
      checkpoint::restore(exec_, *optimizer, x, checkpoint_after(version_0_1::first_step));
  EXPECT_EQ(restored.step, version_0_1::first_step);
  const std::vector<float> before = test::to_host(x);
  const std::vector<float> after = go_on(*optimizer, x);

  const auto writer = make();
  const Vector<float> wanted("wanted", version_0_1::d);
  (void)checkpoint::restore(exec_, *writer, wanted, checkpoint_after(version_0_1::last_step));
  const std::vector<float> writers = test::to_host(wanted);
  EXPECT_LT(relative_distance(after, writers, before), 1e-3);

  // The state matters: who starts with the same parameters and none of it comes elsewhere.
  const auto other = make();
  const Vector<float> y = test::to_device(test::from_rank_zero(before));
  EXPECT_GT(relative_distance(go_on(*other, y), writers, before), 1e-2)
      << "the test would not see a lost state";
}

/// Other numbers of ranks go on as from a checkpoint of this version: restored, and equal on all ranks.
TEST_P(EarlierVersion, IsRestoredOnOtherRanks) {
  const auto optimizer = make();
  const Vector<float> x("x", version_0_1::d);
  const auto restored = checkpoint::restore_newest(exec_, *optimizer, x, folder());
  ASSERT_TRUE(restored.has_value());
  EXPECT_EQ(restored->step, version_0_1::last_step);
  optimizer->flush(exec_, x);
  exec_.fence();
  const std::vector<float> mine = test::to_host(x);
  EXPECT_TRUE(test::bitwise_equal(mine, test::from_rank_zero(mine)));
}

INSTANTIATE_TEST_SUITE_P(OfVersion01, EarlierVersion, testing::ValuesIn(version_0_1::runs()),
                         [](const auto& info) { return info.param.optimizer; });

}  // namespace
}  // namespace kadam::earlier_version_test
