// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <insitu/halo_exchange.hpp>
#include <kadam/optim/options.hpp>

#include <cstdint>
#include <functional>

namespace kadam::insitu {

struct GrayScottOptions {
  std::int64_t width = 192;
  std::int64_t height = 192;
  double feed = 0.018;  ///< F
  double kill = 0.051;  ///< k
  double diffusion_u = 0.16;
  double diffusion_v = 0.08;
  double spacing = 1.0;  ///< h, of the cells
  double time_step = 1.0;
  std::int64_t spots = 30;      ///< squares of 8 x 8 cells with v in them, at the start
  double noise = 0.02;          ///< largest deviation of v from 0 elsewhere, at the start
  std::int64_t spin_up = 2000;  ///< time steps before training begins
  std::int64_t seed = 1;        ///< of where the spots are, and of the noise

  void describe(OptionFields& fields);
  /// Errors: std::invalid_argument with the value and what would be right; also where the scheme is not
  /// stable.
  void validate() const;
  /// The largest stable time_step of diffusion: h^2 / (4 max(D_u, D_v)).
  [[nodiscard]] double largest_time_step() const;
};

/// Values of both species in one cell.
struct Concentrations {
  double u = 0.0;
  double v = 0.0;
};

/// The state of a cell of the whole grid, at the start.
using InitialState = std::function<Concentrations(std::int64_t x, std::int64_t y)>;

/// u = 1, v = 0 with noise, and squares of u = 1/2, v = 1/4. A pure function of the seed: the same for any
/// number of ranks.
[[nodiscard]] InitialState spots_and_noise(const GrayScottOptions& options);

/// The Gray-Scott model of two species that diffuse and react (Pearson 1993), on a periodic grid:
///
///   du/dt = D_u Laplace(u) - u v^2 + F (1 - u)
///   dv/dt = D_v Laplace(v) + u v^2 - (F + k) v
///
/// The 5-point Laplacian and Heun's method: of second order in space and time. With F = k = 0 the sum of u +
/// v over all cells is conserved. A cell's result does not depend on how the grid is cut.
///
/// Memory: 32 B per cell, halos beside; a time step reads and writes 112 B per cell.
class GrayScott {
 public:
  /// Collective, as all that follows.
  GrayScott(const ExecutionSpace& exec, const GrayScottOptions& options, const ProcessGrid& grid);

  void start_from(const ExecutionSpace& exec, const InitialState& initial);
  /// Enqueued on exec, but for two exchanges of halos in each time step, which wait.
  void advance(const ExecutionSpace& exec, std::int64_t time_steps);

  /// With a halo of one cell, which is that of the step before.
  [[nodiscard]] const Field& field() const { return field_; }
  [[nodiscard]] static constexpr std::int64_t halo() { return 1; }
  [[nodiscard]] const Block& block() const { return block_; }
  [[nodiscard]] double time() const { return static_cast<double>(steps_) * options_.time_step; }
  [[nodiscard]] std::int64_t steps_taken() const { return steps_; }
  /// By this rank in one time step.
  [[nodiscard]] std::size_t halo_bytes_per_step() const { return 2 * exchange_.bytes_sent(); }

 private:
  GrayScottOptions options_;
  Block block_;
  HaloExchange exchange_;
  Field field_;
  Field stage_;  ///< what an Euler step makes of it
  std::int64_t steps_ = 0;
};

}  // namespace kadam::insitu
