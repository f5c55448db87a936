// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <insitu/whole_solver.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

namespace kadam::test {
namespace {

using gray_scott::Concentrations;
using gray_scott::HostField;
using gray_scott::SolverOptions;

double sum_of(const HostField& field) {
  double sum = 0.0;
  for (std::size_t i = 0; i < field.size(); ++i) sum += field.data()[i];
  return sum;
}

TEST(Solver, ConservesTheSumOfBothSpeciesWithoutFeedAndKill) {
  SolverOptions options = diffusion(37, 29);
  options.spots = 5;
  WholeSolver solver(options);
  solver.run(gray_scott::spots_and_noise(options), 0);
  const HostField start = solver.field();
  solver->advance(solver.exec(), 150);
  const HostField end = solver.field();
  EXPECT_NEAR(sum_of(end) / sum_of(start), 1.0, 1e-13);
  // And something has happened: u was turned into v, which alone is not conserved.
  double before = 0.0;
  double after = 0.0;
  for (std::size_t y = 0; y < 29; ++y) {
    for (std::size_t x = 0; x < 37; ++x) {
      before += start(y, 1, x);
      after += end(y, 1, x);
    }
  }
  EXPECT_GT(after, 1.5 * before);
}

TEST(Solver, ConservesNothingWithKill) {
  SolverOptions options = diffusion(37, 29);
  options.kill = 3e-3;
  options.spots = 5;
  WholeSolver solver(options);
  solver.run(gray_scott::spots_and_noise(options), 0);
  const double start = sum_of(solver.field());
  solver->advance(solver.exec(), 150);
  EXPECT_GT(std::abs(sum_of(solver.field()) / start - 1.0), 1e-3);
}

/// A Fourier mode is an eigenvector of the 5-point Laplacian: each time step of Heun's method multiplies it
/// by 1 + z + z^2/2.
TEST(Solver, DampsAFourierModeAsTheDiscreteOperatorsSay) {
  constexpr std::int64_t width = 24;
  constexpr std::int64_t height = 18;
  constexpr int steps = 50;
  SolverOptions options = diffusion(width, height);
  options.spacing = 0.5;
  options.time_step = 0.3;
  options.diffusion_u = 0.2;
  const double kx = 2.0 * std::numbers::pi * 3.0 / width;
  const double ky = 2.0 * std::numbers::pi * 2.0 / height;
  const auto mode = [&](std::int64_t x, std::int64_t y) {
    return std::cos(kx * static_cast<double>(x) + ky * static_cast<double>(y));
  };
  WholeSolver solver(options);
  solver.run([&](std::int64_t x, std::int64_t y) { return Concentrations{mode(x, y), 0.0}; }, steps);

  const double eigenvalue = -4.0 / 0.25 * (std::pow(std::sin(kx / 2.0), 2) + std::pow(std::sin(ky / 2.0), 2));
  const double z = options.time_step * options.diffusion_u * eigenvalue;
  const double factor = std::pow(1.0 + z + z * z / 2.0, steps);
  EXPECT_LT(factor, 0.7);
  const HostField field = solver.field();
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      ASSERT_NEAR(field(y, 0, x), factor * mode(x, y), 1e-13) << x << ", " << y;
      ASSERT_EQ(field(y, 1, x), 0.0);
    }
  }
}

/// A long wave decays as the differential equation says, the better the finer the grid.
TEST(Solver, DampsALongWaveAsTheDifferentialEquationSays) {
  SolverOptions options = diffusion(128, 4);
  options.time_step = 1.5;
  const double k = 2.0 * std::numbers::pi / 128.0;
  WholeSolver solver(options);
  solver.run(
      [&](std::int64_t x, std::int64_t) {
        return Concentrations{1.0 + 0.5 * std::cos(k * static_cast<double>(x)), 0.0};
      },
      200);
  const double decayed = 0.5 * std::exp(-options.diffusion_u * k * k * 200.0 * options.time_step);
  EXPECT_NEAR(solver.field()(0, 0, 0), 1.0 + decayed, 1e-3 * decayed);
}

Concentrations smooth_state(double x, double y) {
  const double wave = std::sin(2.0 * std::numbers::pi * x) * std::cos(2.0 * std::numbers::pi * y);
  return {0.5 + 0.2 * wave, 0.25 + 0.1 * std::cos(2.0 * std::numbers::pi * (x + y))};
}

/// The unit square, diffusion as strong as in 16 cells of width 1.
HostField solution(std::int64_t cells, double time_step, double time) {
  SolverOptions options;
  options.width = cells;
  options.height = cells;
  options.spacing = 1.0 / static_cast<double>(cells);
  options.diffusion_u = 0.16 / 256.0;
  options.diffusion_v = 0.08 / 256.0;
  options.time_step = time_step;
  WholeSolver solver(options);
  solver.run(
      [&](std::int64_t x, std::int64_t y) {
        return smooth_state(static_cast<double>(x) * options.spacing,
                            static_cast<double>(y) * options.spacing);
      },
      std::llround(time / time_step));
  return solver.field();
}

/// The largest difference on the points that both grids have.
double distance(const HostField& coarse, const HostField& fine) {
  const std::size_t ratio = fine.extent(0) / coarse.extent(0);
  double largest = 0.0;
  for (std::size_t y = 0; y < coarse.extent(0); ++y) {
    for (std::size_t s = 0; s < coarse.extent(1); ++s) {
      for (std::size_t x = 0; x < coarse.extent(2); ++x)
        largest = std::max(largest, std::abs(coarse(y, s, x) - fine(ratio * y, s, ratio * x)));
    }
  }
  return largest;
}

TEST(Solver, IsOfSecondOrderInTime) {
  const HostField reference = solution(16, 1.0 / 32.0, 4.0);
  const double coarse = distance(solution(16, 0.5, 4.0), reference);
  const double fine = distance(solution(16, 0.25, 4.0), reference);
  EXPECT_NEAR(std::log2(coarse / fine), 2.0, 0.15) << coarse << ", " << fine;
}

TEST(Solver, IsOfSecondOrderInSpace) {
  constexpr double time_step =
      1.0 / 64.0;  // stable on the finest grid, and small beside the error of the others
  const HostField reference = solution(128, time_step, 1.0);
  const double coarse = distance(solution(16, time_step, 1.0), reference);
  const double fine = distance(solution(32, time_step, 1.0), reference);
  EXPECT_NEAR(std::log2(coarse / fine), 2.0, 0.15) << coarse << ", " << fine;
}

/// Refined together, as one does: the error against a much finer solution falls by 4 each time.
TEST(Solver, ConvergesToAFineReference) {
  const HostField reference = solution(128, 1.0 / 64.0, 2.0);
  const double coarse = distance(solution(16, 0.5, 2.0), reference);
  const double fine = distance(solution(32, 0.25, 2.0), reference);
  EXPECT_NEAR(std::log2(coarse / fine), 2.0, 0.2) << coarse << ", " << fine;
  EXPECT_LT(fine, 1e-3);
}

std::string refusal_of(const SolverOptions& options) {
  gray_scott::Settings settings;
  settings.solver = options;
  try {
    settings.validate();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Solver, RefusesTimeStepsThatAreNotStable) {
  SolverOptions options;
  options.time_step = options.largest_time_step();
  EXPECT_EQ(refusal_of(options), "");
  options.time_step *= 1.001;
  EXPECT_NE(refusal_of(options).find("is not stable"), std::string::npos);
  EXPECT_NE(refusal_of(options).find("expected at most 1.562"), std::string::npos) << refusal_of(options);
}

}  // namespace
}  // namespace kadam::test
