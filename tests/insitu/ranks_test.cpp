// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/whole_solver.hpp>
#include <kadam/comm/mpi_communicator.hpp>
#include <support/mpi_options.hpp>
#include <support/mpi_world.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>

namespace kadam::test {
namespace {

using insitu::Block;
using insitu::Decomposition;
using insitu::Field;
using insitu::HaloExchange;
using insitu::HostField;
using insitu::ProcessGrid;

std::shared_ptr<Communicator> world(Staging staging = Staging::automatic) {
  return make_mpi_communicator(MPI_COMM_WORLD, mpi_options(staging));
}

/// Tells all cells and both species of a periodic grid apart.
double value_of(const Decomposition& grid, std::int64_t s, std::int64_t y, std::int64_t x) {
  const std::int64_t row = (y + grid.height()) % grid.height();
  const std::int64_t column = (x + grid.width()) % grid.width();
  return static_cast<double>((s * grid.height() + row) * grid.width() + column);
}

/// Exchanges the halos of fields that hold value_of() in their own cells and -1 around them; returns how many
/// cells are not what they should be then.
int wrong_cells(const ProcessGrid& grid, std::int64_t halo, int repetitions) {
  const ExecutionSpace exec;
  const Block block = grid.block();
  HaloExchange exchange(exec, grid, halo);
  int wrong = 0;
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    const Field field = insitu::make_field(exec, "test", block, halo);
    const auto host = Kokkos::create_mirror_view(field);
    const auto for_each_cell = [&](const auto& body) {
      for (std::int64_t s = 0; s < insitu::species; ++s) {
        for (std::int64_t y = 0; y < block.height + 2 * halo; ++y) {
          for (std::int64_t x = 0; x < block.width + 2 * halo; ++x) body(s, y, x);
        }
      }
    };
    const auto expected = [&](std::int64_t s, std::int64_t y, std::int64_t x) {
      return value_of(grid.decomposition(), s, block.y + y - halo, block.x + x - halo) + 1000.0 * repetition;
    };
    const auto is_own = [&](std::int64_t y, std::int64_t x) {
      return y >= halo && y < block.height + halo && x >= halo && x < block.width + halo;
    };
    for_each_cell([&](std::int64_t s, std::int64_t y, std::int64_t x) {
      host(s, y, x) = is_own(y, x) ? expected(s, y, x) : -1.0;
    });
    Kokkos::deep_copy(field, host);
    exchange(exec, field);
    exec.fence();
    Kokkos::deep_copy(host, field);
    for_each_cell([&](std::int64_t s, std::int64_t y, std::int64_t x) {
      wrong += host(s, y, x) == expected(s, y, x) ? 0 : 1;
    });
  }
  return wrong;
}

TEST(HaloExchange, BringsAllCellsAroundABlockCornersIncluded) {
  for (const Staging staging : {Staging::never, Staging::always}) {
    const auto communicator = world(staging);
    for (const auto& [width, height] : {std::pair{37, 29}, {64, 8}, {9, 50}}) {
      const ProcessGrid grid(Decomposition(communicator->size(), width, height, 2), *communicator);
      EXPECT_EQ(wrong_cells(grid, 1, 3), 0);
      EXPECT_EQ(wrong_cells(grid, 2, 2), 0);
    }
  }
}

TEST(HaloExchange, CountsWhatItSends) {
  const auto communicator = world();
  const ProcessGrid grid(Decomposition(communicator->size(), 64, 64), *communicator);
  const std::size_t bytes = HaloExchange(ExecutionSpace(), grid, 1).bytes_sent();
  if (communicator->size() == 1) {
    EXPECT_EQ(bytes, 0U);
  }
  if (communicator->size() == 4) {
    EXPECT_EQ(bytes, 2U * 2U * 8U * (32U + 34U));
  }
}

bool is_same(const HostField& a, const HostField& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Grids that do not divide, cut in one direction and in both.
TEST(GrayScott, ComputesTheSameOnAnyNumberOfRanks) {
  const ExecutionSpace exec;
  for (const Staging staging : {Staging::never, Staging::always}) {
    const auto communicator = world(staging);
    for (const auto& [width, height] : {std::pair{37, 29}, {61, 7}, {7, 61}}) {
      insitu::GrayScottOptions options;
      options.width = width;
      options.height = height;
      options.spots = 4;
      const ProcessGrid grid(Decomposition(communicator->size(), width, height), *communicator);
      insitu::GrayScott solver(exec, options, grid);
      solver.start_from(exec, insitu::spots_and_noise(options));
      solver.advance(exec, 200);
      WholeSolver alone(options);
      alone.run(insitu::spots_and_noise(options), 200);
      const HostField field =
          insitu::gather_field(exec, *communicator, grid, solver.field(), insitu::GrayScott::halo());
      EXPECT_TRUE(is_same(field, alone.field())) << width << " x " << height;
      alone->advance(alone.exec(), 1);
      EXPECT_FALSE(is_same(field, alone.field())) << "nothing moves: this tests nothing";
    }
  }
}

TEST(TrainingCommunicator, HasTheSameRanksAndCountsItsOwnBytes) {
  const auto program = world(Staging::always);
  const auto training = insitu::make_training_communicator(*program);
  EXPECT_EQ(training->rank(), program->rank());
  EXPECT_EQ(training->size(), program->size());
  EXPECT_TRUE(training->stages_through_host());
  EXPECT_EQ(training->piece_bytes(), program->piece_bytes());
  const std::size_t before = program->bytes_sent().total();
  const double value = training->rank();
  const auto all = training->all_gather_values({&value, 1});
  for (std::size_t rank = 0; rank < all.size(); ++rank) EXPECT_EQ(all[rank], static_cast<double>(rank));
  EXPECT_EQ(program->bytes_sent().total(), before);
}

/// Consecutive ranks in nodes, as KADAM_RANKS_PER_NODE=2 makes them.
TEST(TrainingCommunicator, HasTheNodesOfTheProgram) {
  if (!divides_ranks(2)) GTEST_SKIP();
  const auto program = make_mpi_communicator(MPI_COMM_WORLD, mpi_options(Staging::automatic, 2));
  ASSERT_TRUE(program->has_two_levels());
  const auto training = insitu::make_training_communicator(*program);
  EXPECT_EQ(training->node().size(), 2);
  EXPECT_EQ(training->own_chunk(), program->own_chunk());
}

/// Two grids at work in turns, gradients in between: messages never meet.
TEST(TrainingCommunicator, KeepsGradientsApartFromHalos) {
  const ExecutionSpace exec;
  const auto program = world();
  const ProcessGrid grid(Decomposition(program->size(), 16, 16, 3), *program);
  const auto training = insitu::make_training_communicator(*program);
  for (int k = 0; k < 5; ++k) {
    EXPECT_EQ(wrong_cells(grid, 3, 1), 0);
    const double value = 10.0 * k + training->rank();
    EXPECT_EQ(training->all_gather_values({&value, 1}).back(), 10.0 * k + training->size() - 1);
  }
}

}  // namespace
}  // namespace kadam::test
