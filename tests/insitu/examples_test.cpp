// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/examples.hpp>
#include <insitu/relative_error.hpp>
#include <support/host_views.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace kadam::test {
namespace {

using insitu::Block;
using insitu::Field;
using insitu::HaloExchange;
using insitu::History;
using insitu::Scaling;
using insitu::Surrogate;

constexpr std::int64_t width = 9;
constexpr std::int64_t height = 7;
constexpr std::int64_t radius = 2;

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
  insitu::ProcessGrid grid{insitu::Decomposition(1, width, height), *self};
  HaloExchange exchange{exec, grid, radius};
  History history;

  Past(std::int64_t jumps, std::int64_t states) : history(exec, grid.block(), jumps, radius) {
    for (std::int64_t state = 0; state < states; ++state) history.add(exec, field_of(state), 1, exchange);
  }

  [[nodiscard]] Field field_of(std::int64_t state) const {
    const Field field = insitu::make_field(exec, "test", grid.block(), 1);
    const auto host = Kokkos::create_mirror_view(field);
    for (int s = 0; s < insitu::species; ++s) {
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) host(s, y + 1, x + 1) = value_at(state, s, y, x);
      }
    }
    Kokkos::deep_copy(field, host);
    return field;
  }
};

Scaling some_scaling() {
  return {{100.0, -3.0}, {4.0, 0.5}, {8.0, 16.0}};
}

float scaled(const Scaling& scaling, int s, double value) {
  const auto at = static_cast<std::size_t>(s);
  return static_cast<float>((value - scaling.mean[at]) * (1.0 / scaling.deviation[at]));
}

/// The square of cells around (y, x) in this state.
void expect_square(const float* inputs, const Scaling& scaling, std::int64_t state, std::int64_t y,
                   std::int64_t x) {
  for (std::int64_t dy = -radius; dy <= radius; ++dy) {
    for (std::int64_t dx = -radius; dx <= radius; ++dx) {
      for (int s = 0; s < insitu::species; ++s)
        ASSERT_EQ(*inputs++, scaled(scaling, s, value_at(state, s, y + dy, x + dx)))
            << y + dy << ", " << x + dx;
    }
  }
}

TEST(History, KeepsTheLastStatesWithTheirHalos) {
  const Past past(3, 6);
  EXPECT_EQ(past.history.jumps(), 3);
  const auto newest = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, past.history.newest());
  const auto before = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, past.history.second_newest());
  for (int s = 0; s < insitu::species; ++s) {
    for (std::int64_t y = -radius; y < height + radius; ++y) {
      for (std::int64_t x = -radius; x < width + radius; ++x) {
        ASSERT_EQ(newest(s, y + radius, x + radius), value_at(5, s, y, x)) << y << ", " << x;
        ASSERT_EQ(before(s, y + radius, x + radius), value_at(4, s, y, x));
      }
    }
  }
  EXPECT_EQ(Past(3, 1).history.jumps(), 0);
  EXPECT_EQ(Past(3, 3).history.jumps(), 2);
}

TEST(Examples, AreTheSquaresAroundTheirSitesAndTheChangesThere) {
  Past past(3, 6);  // states 2, 3, 4, 5
  const Scaling scaling = some_scaling();
  Surrogate surrogate({20, radius, {4}, "gelu", 3});
  const auto slot = [&](std::int64_t jump) {
    return static_cast<std::int32_t>(past.history.slot_before(jump));
  };
  const std::vector<std::int32_t> sites = {slot(0), slot(1), 0,       0,       slot(2), slot(3),
                                           6,       8,       slot(1), slot(2), 3,       4};
  const Surrogate::Batch& batch = surrogate.batch(past.exec, 3);
  insitu::gather_examples(past.exec, past.history.states(), radius, to_device(sites), scaling, batch);
  past.exec.fence();
  const auto inputs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, batch.inputs);
  const auto targets = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, batch.targets);
  const std::vector<std::int64_t> states = {2, 4, 3};
  for (std::size_t k = 0; k < states.size(); ++k) {
    const std::int64_t y = sites[4 * k + 2];
    const std::int64_t x = sites[4 * k + 3];
    expect_square(&inputs(k, 0), scaling, states[k], y, x);
    for (int s = 0; s < insitu::species; ++s) {
      const auto at = static_cast<std::size_t>(s);
      const double change = value_at(states[k] + 1, s, y, x) - value_at(states[k], s, y, x);
      EXPECT_EQ(targets(k, at), static_cast<float>(change / scaling.change_size[at]));
    }
  }
}

TEST(Examples, OfAFieldAreItsCellsInOrderAndChangesGoBackThere) {
  Past past(1, 2);
  const Scaling scaling = some_scaling();
  const Block block = past.grid.block();
  Surrogate surrogate({20, radius, {4}, "gelu", 3});
  const Surrogate::Batch& batch = surrogate.batch(past.exec, 20);
  insitu::gather_inputs(past.exec, past.history.newest(), radius, block, 15, scaling, batch.inputs);
  const Field after = insitu::make_field(past.exec, "after", block, radius);
  Kokkos::deep_copy(past.exec, batch.targets, 0.25F);
  insitu::apply_changes(past.exec, past.history.newest(), radius, block, 15, scaling, batch.targets, after);
  past.exec.fence();
  const auto inputs = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, batch.inputs);
  const auto written = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, after);
  for (std::int64_t k = 0; k < 20; ++k) {
    expect_square(&inputs(static_cast<std::size_t>(k), 0), scaling, 1, (15 + k) / width, (15 + k) % width);
  }
  for (std::int64_t cell = 0; cell < block.cells(); ++cell) {
    const bool is_written = cell >= 15 && cell < 35;
    const double v = written(1, cell / width + radius, cell % width + radius);
    ASSERT_EQ(v, is_written ? value_at(1, 1, cell / width, cell % width) + 16.0 * 0.25 : 0.0) << cell;
  }
}

TEST(Scaling, HasTheMomentsOfTheStateAndTheSizeOfItsChange) {
  Past past(1, 2);
  const Scaling scaling = Scaling::of_jump(past.exec, *past.self, past.grid.block(),
                                           past.history.second_newest(), past.history.newest(), radius);
  constexpr double cells = width * height;
  for (int s = 0; s < insitu::species; ++s) {
    double sum = 0.0;
    double squares = 0.0;
    double changes = 0.0;
    for (std::int64_t cell = 0; cell < width * height; ++cell) {
      const double value = value_at(1, s, cell / width, cell % width);
      sum += value;
      squares += value * value;
      changes += std::pow(value - value_at(0, s, cell / width, cell % width), 2);
    }
    const auto at = static_cast<std::size_t>(s);
    EXPECT_NEAR(scaling.mean[at], sum / cells, 1e-9);
    EXPECT_NEAR(scaling.deviation[at], std::sqrt(squares / cells - std::pow(sum / cells, 2)), 1e-6);
    EXPECT_NEAR(scaling.change_size[at], std::sqrt(changes / cells), 1e-9);
  }
}

TEST(Scaling, RefusesFieldsThatDoNotChange) {
  Past past(1, 1);
  EXPECT_THROW(static_cast<void>(Scaling::of_jump(past.exec, *past.self, past.grid.block(),
                                                  past.history.newest(), past.history.newest(), radius)),
               std::runtime_error);
}

TEST(RelativeError, IsThatOfBothSpeciesEachOverItsOwnNorm) {
  Past past(1, 2);
  const double got = insitu::relative_error(past.exec, *past.self, past.grid.block(),
                                            past.history.second_newest(), past.history.newest(), radius);
  double expected = 0.0;
  for (int s = 0; s < insitu::species; ++s) {
    double differences = 0.0;
    double squares = 0.0;
    for (std::int64_t cell = 0; cell < width * height; ++cell) {
      const double truth = value_at(1, s, cell / width, cell % width);
      differences += std::pow(value_at(0, s, cell / width, cell % width) - truth, 2);
      squares += truth * truth;
    }
    expected += 0.5 * differences / squares;
  }
  EXPECT_NEAR(got, std::sqrt(expected), 1e-12);
}

}  // namespace
}  // namespace kadam::test
