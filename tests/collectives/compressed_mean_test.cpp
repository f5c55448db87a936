// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/compressed_mean.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <reference/block_code.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

namespace kadam::compressed_mean_test {
namespace {

struct Store {
  Vector<float> out;
  KOKKOS_FUNCTION void operator()(const std::int64_t i, const float value) const { out(i) = value; }
};

struct NotEverySeventh {
  KOKKOS_FUNCTION bool operator()(const std::int64_t i) const { return i % 7 != 2; }
};

struct Case {
  const char* code;
  bool mean_abs;
  std::int64_t block;
  Staging staging;
  int ranks_per_node = 1;
  NumberFormat errors = NumberFormat::float32;
};

class CompressedMeanTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!test::divides_ranks(GetParam().ranks_per_node)) GTEST_SKIP() << "not so many ranks per node";
    communicator_ = make_communicator(test::mpi_options(GetParam().staging));
    rank_ = communicator_->rank();
    size_ = communicator_->size();
  }

  static std::shared_ptr<Communicator> make_communicator(MpiOptions options) {
    options.ranks_per_node = GetParam().ranks_per_node;
    return make_mpi_communicator(MPI_COMM_WORLD, options);
  }

  std::shared_ptr<Communicator> communicator_;
  int rank_ = 0;
  int size_ = 1;
  ExecutionSpace exec_;
  Phases phases_;

  CompressedMean make(std::int64_t d) const { return make(d, *communicator_); }
  static CompressedMean make(std::int64_t d, Communicator& communicator) {
    const auto scale = GetParam().mean_abs ? SignScale::mean_abs : SignScale::rms;
    return {ExecutionSpace(), make_quantiser(GetParam().code, scale), communicator, d, GetParam().block,
            GetParam().errors};
  }

  std::vector<float> mean_of(CompressedMean& mean, const std::vector<float>& y,
                             const ActiveMask<MemorySpace>& active) {
    const auto out = test::to_device(std::vector<float>(y.size(), 0.0F));
    mean.exchange(exec_, phases_, test::to_device(y), active);
    mean.decode(exec_, active, 0, static_cast<std::int64_t>(y.size()), Store{out});
    return test::to_host(out);
  }

  static std::vector<float> on_host(const CompressedMean::Error& error) {
    if (const auto* const floats = std::get_if<Vector<float>>(&error)) return test::to_host(*floats);
    std::vector<float> values;
    for (const Bfloat16 value : test::to_host(std::get<Vector<Bfloat16>>(error))) {
      values.push_back(to_float(value));
    }
    return values;
  }

  static ActiveMask<MemorySpace> every_seventh_inactive(std::int64_t d) {
    const Vector<std::uint32_t> words("mask",
                                      static_cast<std::size_t>(ActiveMask<MemorySpace>::words_for(d)));
    fill_active_mask(ExecutionSpace{}, words, d, NotEverySeventh{});
    return {words, 0};
  }
};

TEST_P(CompressedMeanTest, EqualsSimulatedRanks) {
  for (const std::int64_t d : {0, 1, 65, 301, 5000}) {
    const auto& [code, mean_abs, block, staging, ranks_per_node, errors] = GetParam();
    reference::Code of_reference{code, mean_abs, block, ranks_per_node};
    of_reference.short_errors = errors == NumberFormat::bfloat16;
    reference::CompressedMean expected(of_reference, size_, d);
    CompressedMean mean = make(d);
    const auto mask = every_seventh_inactive(d);
    std::vector<bool> active(static_cast<std::size_t>(d));
    for (std::int64_t i = 0; i < d; ++i) active[static_cast<std::size_t>(i)] = i % 7 != 2;
    for (std::int64_t t = 1; t <= 4; ++t) {
      std::vector<std::vector<float>> y;
      for (int r = 0; r < size_; ++r) y.push_back(test::random_gradient(d, r, t));
      const auto wanted = expected(y, active);
      const auto got = mean_of(mean, y[static_cast<std::size_t>(rank_)], mask);
      EXPECT_TRUE(test::bitwise_equal(got, test::from_rank_zero(got))) << "replicas differ, d " << d;
      for (std::size_t i = 0; i < got.size(); ++i) {
        ASSERT_NEAR(got[i], wanted[i], 1e-5F * (0.1F + std::fabs(wanted[i])))
            << "d " << d << " step " << t << " element " << i;
      }
    }
  }
}

/// Per coordinate, from zero errors: sum_t out + (1/n) sum_i we_i + se = sum_t (1/n) sum_i y_i. In two levels
/// we exists once per node, and n counts these.
/// Errors in bf16 are rounded by up to 2^-7 of themselves in every exchange, now up and now down.
TEST_P(CompressedMeanTest, NothingIsLost) {
  const std::int64_t d = 3001;
  CompressedMean mean = make(d);
  const ActiveMask<MemorySpace> all;
  std::vector<double> owed(static_cast<std::size_t>(d), 0.0);  // (1/n) sum y - out, summed over the steps
  double magnitude = 0.0;
  for (std::int64_t t = 1; t <= 20; ++t) {
    const auto y = test::random_gradient(d, rank_, t);
    const auto out = mean_of(mean, y, all);
    std::vector<double> sum(y.begin(), y.end());
    sum = test::sum_over_ranks(sum);
    for (std::size_t i = 0; i < owed.size(); ++i) {
      owed[i] += sum[i] / size_ - static_cast<double>(out[i]);
      magnitude = std::max(magnitude, std::fabs(sum[i] / size_));
    }
  }
  std::vector<double> kept(owed.size(), 0.0);
  const int nodes = size_ / GetParam().ranks_per_node;
  if (nodes > 1) {
    const auto worker = on_host(mean.state().worker_error);
    const auto server = on_host(mean.state().server_error);
    const ChunkLayout chunks(d, size_);
    const int own = communicator_->own_chunk();
    const auto first = static_cast<std::size_t>(chunks.chunk(own - communicator_->across().rank()).begin);
    for (std::size_t i = 0; i < worker.size(); ++i) kept[first + i] = static_cast<double>(worker[i]) / nodes;
    const auto begin = static_cast<std::size_t>(chunks.chunk(own).begin);
    for (std::size_t i = 0; i < server.size(); ++i) kept[begin + i] += static_cast<double>(server[i]);
    kept = test::sum_over_ranks(kept);
  }
  double largest_kept = 0.0;
  double lost = 0.0;
  const bool is_rounded = GetParam().errors == NumberFormat::bfloat16;
  for (std::size_t i = 0; i < owed.size(); ++i) {
    EXPECT_NEAR(owed[i], kept[i], (is_rounded ? 0.2 : 2e-4) * magnitude) << i;
    largest_kept = std::max(largest_kept, std::fabs(kept[i]));
    lost += owed[i] - kept[i];
  }
  // Always down would make it 20/256 of an error, or more.
  EXPECT_LE(std::fabs(lost) / static_cast<double>(owed.size()), 2e-3 * magnitude);
  // The law would hold for an exact mean too: this one must owe something.
  EXPECT_EQ(largest_kept > 1e-3 * magnitude, nodes > 1);
}

/// Slices are encoded, reduced and decoded in whatever order they come: the bits are the same, and so are the
/// bytes. Every element is announced once.
TEST_P(CompressedMeanTest, PiecesChangeNothing) {
  const std::int64_t d = 5000;
  CompressedMean whole = make(d);
  const auto mask = every_seventh_inactive(d);
  const auto many = make_communicator({{GetParam().staging, 1}});
  CompressedMean sliced = make(d, *many);
  for (std::int64_t t = 1; t <= 3; ++t) {
    const auto y = test::random_gradient(d, rank_, t);
    const auto out = test::to_device(std::vector<float>(y.size(), 0.0F));
    std::vector<int> announced(y.size(), 0);
    sliced.exchange(exec_, phases_, test::to_device(y), mask, [&](const ElementRange& range) {
      sliced.decode(exec_, mask, range.begin, range.end, Store{out});
      for (std::int64_t i = range.begin; i < range.end; ++i) ++announced[static_cast<std::size_t>(i)];
    });
    EXPECT_TRUE(test::bitwise_equal(test::to_host(out), mean_of(whole, y, mask))) << "step " << t;
    EXPECT_EQ(announced, std::vector<int>(y.size(), 1));
  }
  EXPECT_EQ(many->bytes_sent().sent(Traffic::compressed),
            3 * sliced.layout().cost().bytes(Traffic::compressed));
  EXPECT_EQ(many->bytes_sent().sent(Traffic::node), 3 * sliced.layout().cost().bytes(Traffic::node));
}

TEST_P(CompressedMeanTest, CountsTheBytesOfTheFormula) {
  const std::int64_t block = GetParam().block == 0 ? 64 * 256 : GetParam().block;
  const std::int64_t d = 64 * 256 * static_cast<std::int64_t>(size_);
  CompressedMean mean = make(d);
  (void)mean_of(mean, test::random_gradient(d, rank_, 1), ActiveMask<MemorySpace>{});
  const std::int64_t g = GetParam().ranks_per_node;
  const std::int64_t nodes = size_ / g;
  const std::int64_t bytes = nodes == 1 ? 4 * d : d * code_bits(GetParam().code) / 8 + 4 * d / block;
  const auto between = static_cast<std::size_t>(2 * (nodes - 1) * bytes / nodes / g);
  const auto inside = static_cast<std::size_t>((g - 1) * (4 * d + bytes) / g);
  EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::compressed), between);
  EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::node), inside);
  EXPECT_EQ(mean.layout().cost().bytes(Traffic::compressed), between);
  EXPECT_EQ(mean.layout().cost().bytes(Traffic::node), inside);
}

TEST_P(CompressedMeanTest, DecodesNoCodeThatItsCallerDoesNotName) {
  const std::int64_t d = 500;
  const ActiveMask<MemorySpace> all;
  CompressedMean mean = make(d);
  const auto out = test::to_device(mean_of(mean, test::random_gradient(d, rank_, 1), all));
  const auto decode = [&] { mean.decode<SignCode>(exec_, all, 0, d, Store{out}); };
  // One node compresses nothing, whatever the code.
  if (std::string(GetParam().code) == "sign" || size_ == GetParam().ranks_per_node) {
    const std::vector<float> wanted = test::to_host(out);
    Kokkos::deep_copy(out, 0.0F);
    decode();
    EXPECT_TRUE(test::bitwise_equal(test::to_host(out), wanted));
  } else {
    EXPECT_THROW(decode(), std::logic_error);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Codes, CompressedMeanTest,
    testing::Values(
        Case{"sign", false, 64, Staging::automatic}, Case{"sign", false, 2048, Staging::always},
        Case{"sign", true, 0, Staging::automatic}, Case{"uniform2", false, 128, Staging::automatic},
        Case{"uniform4", false, 256, Staging::always}, Case{"uniform8", false, 64, Staging::automatic},
        Case{"sign", false, 64, Staging::automatic, 2}, Case{"sign", true, 0, Staging::always, 2},
        Case{"uniform4", false, 256, Staging::automatic, 3},
        Case{"uniform8", false, 64, Staging::automatic, 4}, Case{"float8", false, 256, Staging::automatic},
        Case{"gauss2", false, 128, Staging::automatic}, Case{"gauss2", false, 0, Staging::always, 2},
        Case{"sign", false, 64, Staging::automatic, 1, NumberFormat::bfloat16},
        Case{"sign", false, 2048, Staging::always, 1, NumberFormat::bfloat16},
        Case{"sign", true, 256, Staging::automatic, 2, NumberFormat::bfloat16}),
    [](const auto& test_info) {
      return std::string(test_info.param.code) + "block" + std::to_string(test_info.param.block) +
             (test_info.param.mean_abs ? "mean_abs" : "") +
             (test_info.param.staging == Staging::always ? "staged" : "") +
             (test_info.param.errors == NumberFormat::bfloat16 ? "short" : "") +
             (test_info.param.ranks_per_node == 1 ? ""
                                                  : "node" + std::to_string(test_info.param.ranks_per_node));
    });

}  // namespace
}  // namespace kadam::compressed_mean_test
