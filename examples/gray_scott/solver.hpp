// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "settings.hpp"
#include "slab.hpp"

#include <functional>

namespace gray_scott {

/// Values of both species in one cell.
struct Concentrations {
  double u = 0.0;
  double v = 0.0;
};

/// Returns the initial state of cell (x, y) of the whole grid.
using InitialState = std::function<Concentrations(std::int64_t x, std::int64_t y)>;

/// u = 1, v = 0 with noise, and squares of u = 1/2, v = 1/4. A pure function of the seed: the same for any
/// number of ranks.
[[nodiscard]] InitialState spots_and_noise(const SolverOptions& options);

/// The Gray-Scott model of two species that diffuse and react (Pearson 1993), on a periodic grid:
///
///   du/dt = D_u Laplace(u) - u v^2 + F (1 - u)
///   dv/dt = D_v Laplace(v) + u v^2 - (F + k) v
///
/// It uses the 5-point Laplacian and Heun's method, both of second order. With F = k = 0 the sum of u + v
/// over all cells is conserved. The result in a cell does not depend on the cut of the grid into slabs.
/// Refers to `slab`.
class Solver {
 public:
  /// Memory: 32 B per cell, halos included.
  Solver(const ExecutionSpace& exec, const SolverOptions& options, const Slab& slab);

  /// Sets the initial state.
  void start_from(const ExecutionSpace& exec, const InitialState& initial);
  /// Takes time steps, enqueued on exec. Two exchanges of halos in each of them wait. Collective.
  void advance(const ExecutionSpace& exec, std::int64_t time_steps);

  /// The present state; its halo is that of the step before.
  [[nodiscard]] const Field& field() const { return field_; }
  [[nodiscard]] double time() const { return static_cast<double>(steps_) * options_.time_step; }

 private:
  SolverOptions options_;
  const Slab& slab_;
  Field field_;
  Field stage_;  ///< field_ after an Euler step
  std::int64_t steps_ = 0;
};

}  // namespace gray_scott
