// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <gray_scott/samples.hpp>

#include <gtest/gtest.h>
#include <mpi.h>

#include <cmath>
#include <set>
#include <stdexcept>

namespace kadam::test {
namespace {

using gray_scott::Field;
using gray_scott::History;
using gray_scott::Matrix;
using gray_scott::RandomSites;
using gray_scott::Scaling;
using gray_scott::Site;
using gray_scott::Slab;
using gray_scott::species;

constexpr std::int64_t width = 9;
constexpr std::int64_t height = 7;
constexpr std::int64_t radius = 2;
constexpr std::int64_t side = 2 * radius + 1;

/// A number that tells state, species and cell apart; periodic in x and y.
double value_at(std::int64_t state, int s, std::int64_t y, std::int64_t x) {
  const std::int64_t cell = (y + height) % height * width + (x + width) % width;
  return static_cast<double>(1000 * state + 100 * s + cell) +
         0.01 * static_cast<double>(cell * cell * (state + 1));
}

/// A history of one rank, states 0, 1, 2 ... added one after the other.
struct Past {
  ExecutionSpace exec;
  std::shared_ptr<Communicator> self = Communicator::self();
  Slab slab{MPI_COMM_SELF, width, height, radius, false};
  History history;

  Past(std::int64_t jumps, std::int64_t states) : history(exec, slab, jumps) {
    for (std::int64_t state = 0; state < states; ++state) history.add(exec, field_of(state));
  }

  [[nodiscard]] Field field_of(std::int64_t state) const {
    const Field field = slab.make_field(exec, "test");
    exec.fence();
    const auto host = Kokkos::create_mirror_view(field);
    for (int s = 0; s < species; ++s) {
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) host(y + radius, s, x) = value_at(state, s, y, x);
      }
    }
    Kokkos::deep_copy(field, host);
    return field;
  }
};

Scaling some_scaling() {
  return {{100.0, -3.0}, {4.0, 0.5}, {8.0, 16.0}};
}

/// The square of cells around (y, x) in this state, and a 1.
template <class HostMatrix>
void expect_square(const HostMatrix& inputs, std::int64_t row, std::int64_t state, std::int64_t y,
                   std::int64_t x) {
  const Scaling scaling = some_scaling();
  std::int64_t c = 0;
  for (std::int64_t dy = -radius; dy <= radius; ++dy) {
    for (int s = 0; s < species; ++s) {
      for (std::int64_t dx = -radius; dx <= radius; ++dx) {
        const double scaled = (value_at(state, s, y + dy, x + dx) - scaling.mean[s]) / scaling.deviation[s];
        ASSERT_EQ(inputs(row, c++), static_cast<float>(scaled)) << y + dy << ", " << x + dx;
      }
    }
  }
  ASSERT_EQ(inputs(row, c), 1.0F);
}

TEST(History, KeepsTheLastStatesWithTheirHalos) {
  const Past past(3, 6);
  EXPECT_EQ(past.history.jumps(), 3);
  past.exec.fence();
  const auto newest = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, past.history.newest());
  const auto before = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, past.history.second_newest());
  for (int s = 0; s < species; ++s) {
    for (std::int64_t y = -radius; y < height + radius; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        ASSERT_EQ(newest(y + radius, s, x), value_at(5, s, y, x)) << y << ", " << x;
        ASSERT_EQ(before(y + radius, s, x), value_at(4, s, y, x));
      }
    }
  }
  EXPECT_EQ(Past(3, 1).history.jumps(), 0);
  EXPECT_EQ(Past(3, 3).history.jumps(), 2);
}

TEST(RandomSites, AreAllCellsOfAllJumpsAndTheSameEachTime) {
  const Past past(3, 6);  // slots hold states 4, 5, 2, 3
  const RandomSites sites(8, 100, past.history, past.slab);
  std::set<std::int64_t> cells;
  std::set<std::pair<std::int64_t, std::int64_t>> jumps;
  for (std::int64_t k = 0; k < 2000; ++k) {
    const Site site = sites(k);
    EXPECT_TRUE(site.y >= 0 && site.y < height && site.x >= 0 && site.x < width);
    cells.insert(site.y * width + site.x);
    jumps.insert({site.before, site.after});
    EXPECT_EQ(RandomSites(8, 100 + static_cast<std::uint64_t>(k), past.history, past.slab)(0).x, site.x);
  }
  EXPECT_EQ(cells.size(), static_cast<std::size_t>(width * height));
  EXPECT_EQ(jumps, (std::set<std::pair<std::int64_t, std::int64_t>>{{2, 3}, {3, 0}, {0, 1}}));
}

TEST(Examples, AreTheSquaresAroundTheirSitesAndTheChangesThere) {
  const Past past(3, 6);
  const std::int64_t state_in_slot[] = {4, 5, 2, 3};
  const Scaling scaling = some_scaling();
  const Matrix inputs("inputs", 40, species * side * side + 1);
  const Matrix targets("targets", 40, species);
  const RandomSites sites(3, 0, past.history, past.slab);
  gray_scott::gather_examples(past.exec, past.slab, past.history, sites, scaling, inputs, targets);
  past.exec.fence();
  const auto host_inputs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, inputs);
  const auto host_targets = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, targets);
  for (std::int64_t k = 0; k < 40; ++k) {
    const Site site = sites(k);
    const std::int64_t state = state_in_slot[site.before];
    expect_square(host_inputs, k, state, site.y, site.x);
    for (int s = 0; s < species; ++s) {
      const double change = value_at(state + 1, s, site.y, site.x) - value_at(state, s, site.y, site.x);
      EXPECT_EQ(host_targets(k, s), static_cast<float>(change / scaling.change_size[s]));
    }
  }
}

TEST(Examples, OfAFieldAreItsCellsInOrderAndChangesGoBackThere) {
  const Past past(1, 2);
  const Scaling scaling = some_scaling();
  const Matrix inputs("inputs", 20, species * side * side + 1);
  const Matrix changes("changes", 20, species);
  gray_scott::gather_inputs(past.exec, past.slab, past.history.newest(), 15, scaling, inputs);
  const Field after = past.slab.make_field(past.exec, "after");
  Kokkos::deep_copy(past.exec, changes, 0.25F);
  gray_scott::apply_changes(past.exec, past.slab, past.history.newest(), 15, scaling, changes, after);
  past.exec.fence();
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, inputs);
  const auto written = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, after);
  for (std::int64_t k = 0; k < 20; ++k) expect_square(host, k, 1, (15 + k) / width, (15 + k) % width);
  for (std::int64_t cell = 0; cell < width * height; ++cell) {
    const bool is_written = cell >= 15 && cell < 35;
    const double v = written(cell / width + radius, 1, cell % width);
    ASSERT_EQ(v, is_written ? value_at(1, 1, cell / width, cell % width) + 16.0 * 0.25 : 0.0) << cell;
  }
}

/// Σ f(state 0, state 1) over the cells of one species, over their number.
template <class Function>
double mean_over_cells(int s, const Function& f) {
  double sum = 0.0;
  for (std::int64_t cell = 0; cell < width * height; ++cell) {
    sum += f(value_at(0, s, cell / width, cell % width), value_at(1, s, cell / width, cell % width));
  }
  return sum / (width * height);
}

TEST(Scaling, HasTheMomentsOfTheStateAndTheSizeOfItsChange) {
  const Past past(1, 2);
  const Scaling scaling =
      Scaling::of_jump(past.exec, *past.self, past.slab, past.history.second_newest(), past.history.newest());
  for (int s = 0; s < species; ++s) {
    const double mean = mean_over_cells(s, [](double, double now) { return now; });
    const double squares = mean_over_cells(s, [&](double, double now) { return std::pow(now - mean, 2); });
    const double changes = mean_over_cells(s, [](double old, double now) { return std::pow(now - old, 2); });
    EXPECT_NEAR(scaling.mean[s], mean, 1e-9);
    EXPECT_NEAR(scaling.deviation[s], std::sqrt(squares), 1e-9);
    EXPECT_NEAR(scaling.change_size[s], std::sqrt(changes), 1e-9);
  }
}

TEST(Scaling, RefusesFieldsThatDoNotChange) {
  const Past past(1, 2);
  const Field field = past.history.newest();
  EXPECT_THROW(static_cast<void>(Scaling::of_jump(past.exec, *past.self, past.slab, field, field)),
               std::runtime_error);
}

TEST(RelativeError, IsThatOfBothSpeciesEachOverItsOwnNorm) {
  const Past past(1, 2);
  const double got = gray_scott::relative_error(past.exec, *past.self, past.slab,
                                                past.history.second_newest(), past.history.newest());
  double expected = 0.0;
  for (int s = 0; s < species; ++s) {
    expected += 0.5 * mean_over_cells(s, [](double old, double now) { return std::pow(now - old, 2); }) /
                mean_over_cells(s, [](double, double now) { return now * now; });
  }
  EXPECT_NEAR(got, std::sqrt(expected), 1e-12);
}

}  // namespace
}  // namespace kadam::test
