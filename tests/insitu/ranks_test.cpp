// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gray_scott/training.hpp>
#include <insitu/whole_solver.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <stdexcept>

namespace kadam::test {
namespace {

using gray_scott::Field;
using gray_scott::HostField;
using gray_scott::Slab;
using gray_scott::species;

int ranks() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// Exchanges `count` rows of fields that hold, in their own rows, numbers that tell all cells of the periodic
/// grid apart, and -1 around them; returns how many cells are not what they should be then.
int wrong_cells(std::int64_t width, std::int64_t height, std::int64_t halo, std::int64_t count,
                bool is_staged) {
  const ExecutionSpace exec;
  const Slab slab(MPI_COMM_WORLD, width, height, halo, is_staged);
  int wrong = 0;
  for (int repetition = 0; repetition < 3; ++repetition) {
    const Field field = slab.make_field(exec, "test");
    exec.fence();
    const auto host = Kokkos::create_mirror_view(field);
    const auto for_each_cell = [&](const auto& body) {
      for (std::int64_t y = 0; y < slab.rows() + 2 * halo; ++y) {
        const std::int64_t beyond = y < halo ? halo - y : y - slab.rows() - halo + 1;
        for (int s = 0; s < species; ++s) {
          for (std::int64_t x = 0; x < width; ++x) {
            const std::int64_t row = (slab.first_row() + y - halo + height) % height;
            const auto value = static_cast<double>((row * species + s) * width + x) + 1e6 * repetition;
            body(host(y, s, x), value, beyond);
          }
        }
      }
    };
    for_each_cell(
        [&](double& cell, double value, std::int64_t beyond) { cell = beyond <= 0 ? value : -1.0; });
    Kokkos::deep_copy(field, host);
    slab.exchange(exec, field, count);
    exec.fence();
    Kokkos::deep_copy(host, field);
    for_each_cell([&](const double& cell, double value, std::int64_t beyond) {
      wrong += cell == (beyond <= count ? value : -1.0) ? 0 : 1;
    });
  }
  return wrong;
}

TEST(Slab, BringsTheRowsAroundItAndNoMore) {
  for (const bool is_staged : {false, true}) {
    for (const auto& [width, height] : {std::pair{37, 29}, {64, 8}, {9, 50}}) {
      EXPECT_EQ(wrong_cells(width, height, 1, 1, is_staged), 0);
      EXPECT_EQ(wrong_cells(width, height, 2, 2, is_staged), 0);
      EXPECT_EQ(wrong_cells(width, height, 2, 1, is_staged), 0);
    }
  }
}

TEST(Slab, CountsWhatItSends) {
  const Slab slab(MPI_COMM_WORLD, 192, 192, 3, false);
  EXPECT_EQ(slab.bytes_sent(1), ranks() == 1 ? 0 : 2 * 2 * 8 * 192);
}

TEST(Slab, CoversTheGrid) {
  const Slab slab(MPI_COMM_WORLD, 5, 13, 1, false);
  const auto rows = static_cast<int>(slab.rows());
  int all = 0;
  MPI_Allreduce(&rows, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all, 13);
  EXPECT_GE(rows, 13 / ranks());
  EXPECT_LE(rows, 13 / ranks() + 1);
}

TEST(Slab, RefusesTooFewRows) {
  EXPECT_NO_THROW(Slab(MPI_COMM_WORLD, 1, 3 * ranks(), 3, false));
  EXPECT_THROW(Slab(MPI_COMM_WORLD, 100, 3 * ranks() - 1, 3, false), std::invalid_argument);
}

bool is_same(const HostField& a, const HostField& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

/// Grids that do not divide.
TEST(Solver, ComputesTheSameOnAnyNumberOfRanks) {
  const ExecutionSpace exec;
  for (const bool is_staged : {false, true}) {
    for (const auto& [width, height] : {std::pair{37, 29}, {61, 7}, {7, 61}}) {
      gray_scott::SolverOptions options;
      options.width = width;
      options.height = height;
      options.spots = 4;
      const Slab slab(MPI_COMM_WORLD, width, height, 1, is_staged);
      gray_scott::Solver solver(exec, options, slab);
      solver.start_from(exec, gray_scott::spots_and_noise(options));
      solver.advance(exec, 200);
      exec.fence();
      WholeSolver alone(options);
      alone.run(gray_scott::spots_and_noise(options), 200);
      const HostField field = slab.gather(solver.field());
      EXPECT_TRUE(is_same(field, alone.field())) << width << " x " << height;
      alone->advance(alone.exec(), 1);
      EXPECT_FALSE(is_same(field, alone.field())) << "nothing moves: this tests nothing";
    }
  }
}

/// Halos and gradients in turns: messages never meet.
TEST(TrainingCommunicator, KeepsGradientsApartFromHalos) {
  for (const bool is_staged : {false, true}) {
    const auto training = gray_scott::make_training_communicator(MPI_COMM_WORLD, is_staged);
    EXPECT_EQ(training->size(), ranks());
    EXPECT_EQ(training->stages_through_host(), is_staged);
    for (int k = 0; k < 5; ++k) {
      EXPECT_EQ(wrong_cells(16, 16, 3, 3, is_staged), 0);
      const double value = 10.0 * k + training->rank();
      EXPECT_EQ(training->all_gather_values({&value, 1}).back(), 10.0 * k + training->size() - 1);
    }
  }
}

}  // namespace
}  // namespace kadam::test
