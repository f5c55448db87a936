// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/low_rank_mean.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <reference/low_rank_mean.hpp>
#include <reference/number_format.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>
#include <support/recorded_work.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

/// The low-rank mean equals simulated ranks, keeps its laws, and sends the bytes of its formula, on 1 to 4
/// ranks.
namespace kadam {
namespace {

/// Wide and tall matrices, one with a single tile of columns and one with several, one of which a side is
/// shorter than the rank, and tensors of one dimension before, between and behind.
TensorLayout layout_of_shapes() {
  TensorLayoutBuilder builder;
  builder.add("first", 5);
  builder.add("tall", {300, 7});
  builder.add("bias", 11);
  builder.add("wide", {9, 700});
  builder.add("narrow", {2, 40});
  builder.add("kept", {6, 6});
  builder.add("kernel", {4, 3, 5}, false);
  builder.add("row", {1, 30});
  return builder.build();
}

const Tensor& tensor_of(const TensorLayout& layout, const std::string& name) {
  return *std::find_if(layout.tensors().begin(), layout.tensors().end(),
                       [&](const Tensor& tensor) { return tensor.name == name; });
}

std::vector<ElementRange> kept_dense(const TensorLayout& layout, const std::string& name) {
  const Tensor& kept = tensor_of(layout, name);
  return {{kept.begin, kept.end}};
}

std::vector<reference::MatrixPlace> places(const TensorLayout& layout,
                                           const std::vector<ElementRange>& dense) {
  std::vector<reference::MatrixPlace> all;
  for (std::size_t k = 0; k < layout.tensors().size(); ++k) {
    const Tensor& tensor = layout.tensors()[k];
    const bool is_dense = std::any_of(dense.begin(), dense.end(),
                                      [&](const ElementRange& one) { return one.begin == tensor.begin; });
    if (tensor.is_matrix() && !is_dense)
      all.push_back({tensor.begin, tensor.rows(), tensor.columns(), static_cast<std::int64_t>(k)});
  }
  return all;
}

int ranks_of_world() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

struct LowRankCase {
  std::int64_t rank;
  std::int64_t bits;
  std::string format;
  Staging staging;
  int ranks_per_node = 1;
};

std::string title(const testing::TestParamInfo<LowRankCase>& test_info) {
  const LowRankCase& its = test_info.param;
  return "rank" + std::to_string(its.rank) + "bits" + std::to_string(its.bits) + its.format +
         (its.staging == Staging::always ? "staged" : "") + "node" + std::to_string(its.ranks_per_node);
}

class LowRankMeanTest : public testing::TestWithParam<LowRankCase> {
 protected:
  void SetUp() override {
    if (!test::divides_ranks(GetParam().ranks_per_node)) GTEST_SKIP() << "not so many ranks per node";
    communicator_ = make_mpi_communicator(MPI_COMM_WORLD,
                                          test::mpi_options(GetParam().staging, GetParam().ranks_per_node));
    ranks_ = communicator_->size();
    rank_ = static_cast<std::size_t>(communicator_->rank());
  }
  [[nodiscard]] LowRankOptions options() const { return {GetParam().rank, GetParam().bits, 7}; }
  [[nodiscard]] LowRankMean make(const std::vector<ElementRange>& dense) {
    return {exec_, options(), *communicator_, layout_, dense};
  }
  [[nodiscard]] reference::Ranks gradients(std::int64_t t) const {
    reference::Ranks all;
    for (int r = 0; r < ranks_; ++r) {
      all.push_back(reference::Format::named(GetParam().format)
                        .rounded(test::random_gradient(layout_.elements(), r, t)));
    }
    return all;
  }
  [[nodiscard]] std::vector<float> mean_of(LowRankMean& mean, const reference::Ranks& all, float scale) {
    const Vector<const float> result =
        mean(exec_, phases_, test::to_gradient(GetParam().format, all[rank_]), scale);
    Kokkos::fence();
    return test::to_host(result);
  }
  /// The mean over ranks of e, as a state would say it.
  [[nodiscard]] std::vector<double> mean_error(const LowRankMean& mean) const {
    StateFields fields(*communicator_, StateFields::Purpose::save);
    mean.describe_state(exec_, fields);
    const auto own = test::to_host(fields.vector("error"));
    std::vector<double> sum = test::sum_over_ranks(std::vector<double>(own.begin(), own.end()));
    for (double& value : sum) value /= ranks_;
    return sum;
  }

  TensorLayout layout_ = layout_of_shapes();
  std::shared_ptr<Communicator> communicator_;
  int ranks_ = 1;
  std::size_t rank_ = 0;
  ExecutionSpace exec_;
  Phases phases_;
};

TEST_P(LowRankMeanTest, EqualsSimulatedRanks) {
  const auto dense = ranks_ == 1 ? std::vector<ElementRange>{} : kept_dense(layout_, "kept");
  LowRankMean mean = make(dense);
  const LowRankCase& its = GetParam();
  reference::LowRankMean expected(places(layout_, dense), its.rank, static_cast<int>(its.bits), 7, ranks_,
                                  layout_.elements());
  const SumSpace<MemorySpace> space(layout_.elements());
  for (std::int64_t t = 1; t <= 6; ++t) {
    SCOPED_TRACE(testing::Message() << "step " << t);
    const float scale = t == 2 ? 1.0F : 0.375F;
    const auto all = gradients(t);
    reference::Ranks scaled = all;
    for (auto& g : scaled) {
      for (float& value : g) value *= scale;
    }
    std::vector<float> wanted = reference::dense_mean(scaled);
    if (ranks_ > 1) expected(all, static_cast<double>(scale), wanted);
    const auto got = mean_of(mean, all, scale);
    EXPECT_TRUE(test::bitwise_equal(got, test::from_rank_zero(got))) << "replicas differ";
    float largest = 0.0F;
    for (const float value : wanted) largest = std::max(largest, std::fabs(value));
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_NEAR(got[i], wanted[i], 1e-5F * largest) << "element " << i;
    }
    double square = 0.0;
    for (const float e : expected.error[rank_]) square += static_cast<double>(e) * static_cast<double>(e);
    EXPECT_NEAR(mean.squared_error(exec_, space), ranks_ == 1 ? 0.0 : square, 1e-4 * square);
  }
}

/// What means leave out is in the errors, to rounding, and nowhere else.
TEST_P(LowRankMeanTest, LosesNothing) {
  LowRankMean mean = make({});
  const auto d = static_cast<std::size_t>(layout_.elements());
  std::vector<double> delivered(d, 0.0);
  std::vector<double> sent(d, 0.0);
  for (std::int64_t t = 1; t <= 8; ++t) {
    const auto all = gradients(t);
    const auto got = mean_of(mean, all, 1.0F);
    for (std::size_t i = 0; i < d; ++i) {
      delivered[i] += static_cast<double>(got[i]);
      for (const auto& g : all) sent[i] += static_cast<double>(g[i]) / ranks_;
    }
  }
  const std::vector<double> owed = ranks_ == 1 ? std::vector<double>(d, 0.0) : mean_error(mean);
  double largest = 0.0;
  for (const double value : sent) largest = std::max(largest, std::fabs(value));
  for (std::size_t i = 0; i < d; ++i) {
    ASSERT_NEAR(delivered[i] + owed[i], sent[i], 2e-5 * largest) << "element " << i;
  }
}

/// Zero gradients move nothing; a row or a column that is zero on all ranks stays so, to the last bit.
TEST_P(LowRankMeanTest, KeepsZeros) {
  LowRankMean mean = make({});
  const Tensor& tall = tensor_of(layout_, "tall");
  const auto is_dead = [&](std::int64_t i) {
    const bool inside = i >= tall.begin && i < tall.end;
    return inside && ((i - tall.begin) / 7 == 3 || (i - tall.begin) % 7 == 2);
  };
  for (std::int64_t t = 1; t <= 5; ++t) {
    reference::Ranks all = gradients(t);
    for (auto& g : all) {
      for (std::int64_t i = 0; i < layout_.elements(); ++i) {
        if (t == 1 || is_dead(i)) g[static_cast<std::size_t>(i)] = 0.0F;
      }
    }
    const auto got = mean_of(mean, all, 1.0F);
    for (std::int64_t i = 0; i < layout_.elements(); ++i) {
      if (t > 1 && !is_dead(i)) continue;
      ASSERT_EQ(got[static_cast<std::size_t>(i)], 0.0F) << "step " << t << " element " << i;
    }
  }
}

TEST_P(LowRankMeanTest, SendsTheBytesOfItsLayout) {
  LowRankMean mean = make(kept_dense(layout_, "kept"));
  const ByteCounters before = communicator_->bytes_sent();
  (void)mean_of(mean, gradients(1), 1.0F);
  const ByteCounters& sent = communicator_->bytes_sent();
  const Cost cost = mean.layout().cost();
  for (const Traffic traffic : {Traffic::compressed, Traffic::dense, Traffic::node}) {
    EXPECT_EQ(sent.sent(traffic) - before.sent(traffic), cost.bytes(traffic));
  }
  EXPECT_EQ(cost.bytes(Traffic::compressed) > 0, ranks_ > 1);
}

INSTANTIATE_TEST_SUITE_P(Codes, LowRankMeanTest,
                         testing::Values(LowRankCase{2, 8, "float32", Staging::automatic},
                                         LowRankCase{1, 4, "float32", Staging::always},
                                         LowRankCase{3, 32, "float32", Staging::automatic},
                                         LowRankCase{5, 8, "bf16", Staging::automatic},
                                         LowRankCase{11, 8, "fp16", Staging::always},
                                         LowRankCase{2, 8, "float32", Staging::automatic, 2}),
                         title);

class LowRankLaws : public testing::Test {
 protected:
  [[nodiscard]] std::vector<float> mean_of(const LowRankOptions& options, const TensorLayout& layout,
                                           const std::vector<reference::Ranks>& steps) const {
    const auto communicator = make_mpi_communicator(MPI_COMM_WORLD);
    LowRankMean mean(exec_, options, *communicator, layout, {});
    Phases phases;
    std::vector<float> got;
    for (const reference::Ranks& all : steps) {
      const auto own = test::to_device(all[static_cast<std::size_t>(communicator->rank())]);
      const Vector<const float> result = mean(exec_, phases, own, 1.0F);
      Kokkos::fence();
      got = test::to_host(result);
    }
    return got;
  }
  [[nodiscard]] static reference::Ranks gradients(std::int64_t elements, std::int64_t t) {
    reference::Ranks all;
    for (int r = 0; r < ranks_of_world(); ++r) all.push_back(test::random_vector(elements, 100 * t + r));
    return all;
  }
  static void expect_near(const std::vector<float>& got, const std::vector<float>& wanted, float tolerance) {
    float largest = 0.0F;
    for (const float value : wanted) largest = std::max(largest, std::fabs(value));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_NEAR(got[i], wanted[i], tolerance * largest) << "element " << i;
    }
  }

  ExecutionSpace exec_;
};

TEST_F(LowRankLaws, AtFullRankAnd32BitsItIsTheDenseMean) {
  TensorLayoutBuilder builder;
  builder.add("tall", {20, 6});
  builder.add("wide", {5, 300});
  const TensorLayout layout = builder.build();
  const auto all = gradients(layout.elements(), 1);
  expect_near(mean_of({20, 32, 1}, layout, {all}), reference::dense_mean(all), 1e-5F);
}

/// The same mean gradient, which one rank has alone, or all have.
TEST_F(LowRankLaws, TheSplitOverRanksDoesNotMatter) {
  const TensorLayout layout = layout_of_shapes();
  std::vector<reference::Ranks> spread;
  std::vector<reference::Ranks> alone;
  for (std::int64_t t = 1; t <= 4; ++t) {
    spread.push_back(gradients(layout.elements(), t));
    const std::vector<float> mean = reference::dense_mean(spread.back());
    alone.push_back(reference::zeros(ranks_of_world(), layout.elements()));
    for (std::size_t i = 0; i < mean.size(); ++i) {
      alone.back().back()[i] = mean[i] * static_cast<float>(ranks_of_world());
    }
  }
  expect_near(mean_of({2, 32, 1}, layout, alone), mean_of({2, 32, 1}, layout, spread), 1e-4F);
}

/// Hundreds of matrices are a few launches: what a GPU's queue sees.
TEST_F(LowRankLaws, ManyMatricesAreAFewLaunches) {
  const auto communicator = make_mpi_communicator(MPI_COMM_WORLD);
  TensorLayoutBuilder builder;
  for (int k = 0; k < 200; ++k) {
    builder.add("weight" + std::to_string(k), {15, 20});
    builder.add("bias" + std::to_string(k), 15);
  }
  const TensorLayout layout = builder.build();
  LowRankMean mean(exec_, {2, 8, 1}, *communicator, layout, {});
  Phases phases;
  const auto gradient = test::to_device(test::random_vector(layout.elements(), 1));
  const test::RecordedWork recorded;
  (void)mean(exec_, phases, gradient, 1.0F);
  // A staged message is copied once more on either side.
  const std::size_t copies = communicator->stages_through_host() ? 12 : 0;
  EXPECT_LE(test::RecordedWork::launches().size(), 17U + copies);
  EXPECT_LE(test::RecordedWork::fences().size(), 1U);
}

}  // namespace
}  // namespace kadam
