// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <kadam/collectives/low_bit_reduce_scatter.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <reference/adam.hpp>
#include <reference/block_code.hpp>
#include <support/gradients.hpp>
#include <support/host_views.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>
#include <support/random_vectors.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kadam {
namespace {

/// A low-bit reduce-scatter over ranks that live in one process: the mean of all chunks, and the errors of
/// those who compress.
struct SimulatedReduceScatter {
  reference::Code code;
  int chunks;
  double beta;
  reference::Format format;
  reference::Ranks error;

  SimulatedReduceScatter(const reference::Code& c, int ranks, double error_beta,
                         const reference::Format& gradients, std::int64_t d)
      : code(c),
        chunks(ranks),
        beta(error_beta),
        format(gradients),
        error(reference::zeros(ranks / c.ranks_per_node, d)) {}

  std::vector<float> operator()(const reference::Ranks& gradients, float scale,
                                const std::vector<bool>& active) {
    reference::Ranks of_nodes = reference::node_means(gradients, code.ranks_per_node);
    for (auto& node : of_nodes) node = code.ranks_per_node > 1 ? format.rounded(node) : node;
    std::vector<float> mean(active.size(), 0.0F);
    if (of_nodes.size() == 1) {
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] = scale * of_nodes[0][i];
      return mean;
    }
    for (std::size_t r = 0; r < of_nodes.size(); ++r) {
      std::vector<float> h(mean.size(), 0.0F);
      for (std::size_t i = 0; i < h.size(); ++i) {
        if (!active[i]) error[r][i] = 0.0F;
        h[i] = active[i] ? scale * of_nodes[r][i] + error[r][i] : 0.0F;
      }
      const std::vector<float> q = quantised(code, h);
      for (std::size_t i = 0; i < h.size(); ++i) {
        mean[i] += q[i];
        h[i] = reference::ema(error[r][i], h[i] - q[i], beta);
      }
      error[r] = quantised({.name = "uniform8", .block = code.block}, h);
    }
    for (float& value : mean) value *= static_cast<float>(1.0 / static_cast<double>(of_nodes.size()));
    return mean;
  }

  void reset() {
    for (auto& of_rank : error) of_rank.assign(of_rank.size(), 0.0F);
  }
  /// Of all who compress, the mean.
  [[nodiscard]] double squared_error() const {
    double sum = 0.0;
    for (const auto& of_rank : error) {
      for (const float e : of_rank) sum += static_cast<double>(e) * static_cast<double>(e);
    }
    return sum / static_cast<double>(error.size());
  }

 private:
  [[nodiscard]] std::vector<float> quantised(const reference::Code& by, const std::vector<float>& h) const {
    std::vector<float> q(h.size(), 0.0F);
    const auto d = static_cast<std::int64_t>(h.size());
    for (int j = 0; j < chunks; ++j) {
      reference::quantise_chunk(by, h, std::vector<bool>(h.size(), true), reference::chunk_of(d, chunks, j),
                                q);
    }
    return q;
  }
};

struct NotEveryFifth {
  KOKKOS_FUNCTION bool operator()(const std::int64_t i) const { return i % 5 != 3; }
};

struct ReduceScatterCase {
  const char* code;
  std::int64_t block;
  std::string format;
  Staging staging;
  int ranks_per_node = 1;
};

class LowBitReduceScatterTest : public testing::TestWithParam<ReduceScatterCase> {
 protected:
  void SetUp() override {
    if (!test::divides_ranks(GetParam().ranks_per_node)) GTEST_SKIP() << "not so many ranks per node";
    communicator_ = make_communicator(test::mpi_options(GetParam().staging));
    rank_ = communicator_->rank();
    size_ = communicator_->size();
    nodes_ = size_ / GetParam().ranks_per_node;
  }
  static std::shared_ptr<Communicator> make_communicator(MpiOptions options) {
    options.ranks_per_node = GetParam().ranks_per_node;
    return make_mpi_communicator(MPI_COMM_WORLD, options);
  }
  [[nodiscard]] LowBitReduceScatter make(std::int64_t d) const { return make(d, *communicator_); }
  [[nodiscard]] static LowBitReduceScatter make(std::int64_t d, Communicator& communicator) {
    const NumberFormat format = GetParam().format == "bf16" ? NumberFormat::bfloat16 : NumberFormat::float32;
    return {
        ExecutionSpace(), make_quantiser(GetParam().code), communicator, d, GetParam().block, 0.8, format};
  }
  [[nodiscard]] SimulatedReduceScatter simulated(std::int64_t d) const {
    const auto& its = GetParam();
    return {{.name = its.code, .block = its.block, .ranks_per_node = its.ranks_per_node},
            size_,
            0.8,
            reference::Format::named(its.format),
            d};
  }
  /// Rounded to the format that they have.
  [[nodiscard]] reference::Ranks gradients(std::int64_t d, std::int64_t t) const {
    reference::Ranks all;
    for (int r = 0; r < size_; ++r) {
      all.push_back(reference::Format::named(GetParam().format).rounded(test::random_gradient(d, r, t)));
    }
    return all;
  }
  [[nodiscard]] std::vector<float> own_mean(LowBitReduceScatter& scatter, const reference::Ranks& all,
                                            float scale, const ActiveMask<MemorySpace>& active) {
    const Gradient own =
        test::to_gradient(GetParam().format, all[static_cast<std::size_t>(communicator_->rank())]);
    const Vector<float> mean = scatter(exec_, phases_, own, scale, active);
    Kokkos::fence();
    return test::to_host(mean);
  }

  static ActiveMask<MemorySpace> mask(std::int64_t d) {
    const Vector<std::uint32_t> words("mask",
                                      static_cast<std::size_t>(ActiveMask<MemorySpace>::words_for(d)));
    fill_active_mask(ExecutionSpace{}, words, d, NotEveryFifth{});
    return {words, 0};
  }

  std::shared_ptr<Communicator> communicator_;
  int rank_ = 0;
  int size_ = 1;
  int nodes_ = 1;
  ExecutionSpace exec_;
  Phases phases_;
};

TEST_P(LowBitReduceScatterTest, EqualsSimulatedRanks) {
  for (const std::int64_t d : {0, 1, 65, 301, 5000}) {
    LowBitReduceScatter scatter = make(d);
    SimulatedReduceScatter expected = simulated(d);
    std::vector<bool> active(static_cast<std::size_t>(d));
    for (std::int64_t i = 0; i < d; ++i) active[static_cast<std::size_t>(i)] = NotEveryFifth{}(i);
    const auto own = ChunkLayout(d, size_).chunk(communicator_->own_chunk());
    const SumSpace<MemorySpace> space(d);
    for (std::int64_t t = 1; t <= 5; ++t) {
      const float scale = t == 2 ? 1.0F : 0.375F;
      const auto all = gradients(d, t);
      const auto wanted = expected(all, scale, active);
      const auto got = own_mean(scatter, all, scale, mask(d));
      const std::string where = "d " + std::to_string(d) + " step " + std::to_string(t);
      ASSERT_EQ(static_cast<std::int64_t>(got.size()), own.elements()) << where;
      for (std::int64_t i = own.begin; i < own.end; ++i) {
        const auto k = static_cast<std::size_t>(i);
        if (nodes_ == 1 && !active[k]) continue;  // nothing is sent, and nobody asks for it
        ASSERT_EQ(got[static_cast<std::size_t>(i - own.begin)], wanted[k]) << where << " element " << i;
      }
      // A share of each rank, whose mean is that of those who compress.
      const auto sum = test::sum_over_ranks({scatter.squared_error(exec_, space)})[0];
      const double of_reference = nodes_ == 1 ? 0.0 : expected.squared_error();
      EXPECT_NEAR(sum / size_, of_reference, 1e-9 * of_reference) << where;
      if (nodes_ > 1 && d == 5000) {
        EXPECT_GT(of_reference, 0.0) << "owes something";
      }
      if (t != 3) continue;
      scatter.reset_error(exec_);
      expected.reset();
      EXPECT_EQ(scatter.squared_error(exec_, space), 0.0);
    }
  }
}

/// Slices come in whatever order: the bits are the same, and so are the bytes.
TEST_P(LowBitReduceScatterTest, PiecesChangeNothing) {
  const std::int64_t d = 5000;
  LowBitReduceScatter whole = make(d);
  const auto many = make_communicator({{GetParam().staging, 1}});
  LowBitReduceScatter sliced = make(d, *many);
  for (std::int64_t t = 1; t <= 3; ++t) {
    const auto all = gradients(d, t);
    const auto expected = own_mean(whole, all, 0.375F, mask(d));
    EXPECT_TRUE(test::bitwise_equal(own_mean(sliced, all, 0.375F, mask(d)), expected)) << t;
  }
  EXPECT_EQ(many->bytes_sent().sent(Traffic::compressed),
            3 * sliced.layout().cost().bytes(Traffic::compressed));
  EXPECT_EQ(many->bytes_sent().sent(Traffic::node), 3 * sliced.layout().cost().bytes(Traffic::node));
  EXPECT_EQ(many->bytes_sent().sent(Traffic::dense), 0U);
}

TEST_P(LowBitReduceScatterTest, CountsTheBytesOfTheFormula) {
  const std::int64_t block = GetParam().block == 0 ? 64 * 256 : GetParam().block;
  const std::int64_t d = 64 * 256 * static_cast<std::int64_t>(size_);
  LowBitReduceScatter scatter = make(d);
  (void)own_mean(scatter, gradients(d, 1), 1.0F, {});
  const std::int64_t g = GetParam().ranks_per_node;
  const std::int64_t bytes = d * code_bits(GetParam().code) / 8 + 4 * d / block;
  const std::int64_t per_number = GetParam().format == "bf16" ? 2 : 4;
  const auto between = static_cast<std::size_t>((nodes_ - 1) * bytes / nodes_ / g);
  const auto inside = static_cast<std::size_t>((g - 1) * per_number * d / g);
  EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::compressed), between);
  EXPECT_EQ(communicator_->bytes_sent().sent(Traffic::node), inside);
  EXPECT_EQ(scatter.layout().cost().bytes(Traffic::compressed), between);
  EXPECT_EQ(scatter.layout().cost().bytes(Traffic::node), inside);
}

INSTANTIATE_TEST_SUITE_P(Codes, LowBitReduceScatterTest,
                         testing::Values(ReduceScatterCase{"uniform4", 256, "float32", Staging::automatic},
                                         ReduceScatterCase{"uniform2", 64, "bf16", Staging::always},
                                         ReduceScatterCase{"uniform8", 128, "float32", Staging::always},
                                         ReduceScatterCase{"uniform4", 0, "bf16", Staging::automatic},
                                         ReduceScatterCase{"uniform4", 64, "float32", Staging::always, 2},
                                         ReduceScatterCase{"uniform4", 0, "bf16", Staging::automatic, 2},
                                         ReduceScatterCase{"uniform8", 256, "float32", Staging::automatic, 3},
                                         ReduceScatterCase{"uniform2", 128, "bf16", Staging::automatic, 4}),
                         [](const auto& test_info) {
                           const ReduceScatterCase& its = test_info.param;
                           return std::string(its.code) + "block" + std::to_string(its.block) + its.format +
                                  (its.staging == Staging::always ? "staged" : "") + "node" +
                                  std::to_string(its.ranks_per_node);
                         });

}  // namespace
}  // namespace kadam
