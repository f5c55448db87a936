// SPDX-FileCopyrightText: The Kadam authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "solver.hpp"

#include "random.hpp"

#include <vector>

namespace gray_scott {
namespace {

/// One step of Euler's method in a cell.
struct EulerStep {
  double feed;
  double decay;        ///< F + k
  double diffusion_u;  ///< D_u / h^2
  double diffusion_v;
  double time_step;

  explicit EulerStep(const SolverOptions& options)
      : feed(options.feed),
        decay(options.feed + options.kill),
        diffusion_u(options.diffusion_u / (options.spacing * options.spacing)),
        diffusion_v(options.diffusion_v / (options.spacing * options.spacing)),
        time_step(options.time_step) {}

  /// The sum of the four neighbours. Opposite ones are added first, so that a mirrored field has a mirrored
  /// result, bit by bit.
  KOKKOS_INLINE_FUNCTION static double neighbours(const Field& field, std::int64_t y, int s, std::int64_t x) {
    const auto width = static_cast<std::int64_t>(field.extent(2));
    const double left = field(y, s, x == 0 ? width - 1 : x - 1);
    const double right = field(y, s, x == width - 1 ? 0 : x + 1);
    return (left + right) + (field(y - 1, s, x) + field(y + 1, s, x));
  }

  [[nodiscard]] KOKKOS_INLINE_FUNCTION Concentrations operator()(const Field& field, std::int64_t y,
                                                                 std::int64_t x) const {
    const double u = field(y, 0, x);
    const double v = field(y, 1, x);
    const double reaction = u * v * v;
    const double of_u = diffusion_u * (neighbours(field, y, 0, x) - 4.0 * u) - reaction + feed * (1.0 - u);
    const double of_v = diffusion_v * (neighbours(field, y, 1, x) - 4.0 * v) + reaction - decay * v;
    return {u + time_step * of_u, v + time_step * of_v};
  }
};

/// to = share (from + an Euler step) + (1 - share) to, in the rank's own rows.
void take_euler_step(const ExecutionSpace& exec, const Slab& slab, const EulerStep& euler, const Field& from,
                     double share, const Field& to) {
  Kokkos::parallel_for(
      "gray_scott::take_euler_step",
      Kokkos::MDRangePolicy<ExecutionSpace, Kokkos::Rank<2, Kokkos::Iterate::Right, Kokkos::Iterate::Right>,
                            Kokkos::IndexType<std::int64_t>>(exec, {slab.halo(), 0},
                                                             {slab.halo() + slab.rows(), slab.width()}),
      KOKKOS_LAMBDA(std::int64_t y, std::int64_t x) {
        const Concentrations next = euler(from, y, x);
        to(y, 0, x) = share * next.u + (1.0 - share) * to(y, 0, x);
        to(y, 1, x) = share * next.v + (1.0 - share) * to(y, 1, x);
      });
}

}  // namespace

Solver::Solver(const ExecutionSpace& exec, const SolverOptions& options, const Slab& slab)
    : options_(options),
      slab_(slab),
      field_(slab.make_field(exec, "gray_scott::field")),
      stage_(slab.make_field(exec, "gray_scott::stage")) {}

void Solver::start_from(const ExecutionSpace& exec, const InitialState& initial) {
  const auto host = Kokkos::create_mirror_view(field_);
  for (std::int64_t y = 0; y < slab_.rows(); ++y) {
    for (std::int64_t x = 0; x < slab_.width(); ++x) {
      const Concentrations cell = initial(x, slab_.first_row() + y);
      host(y + slab_.halo(), 0, x) = cell.u;
      host(y + slab_.halo(), 1, x) = cell.v;
    }
  }
  Kokkos::deep_copy(exec, field_, host);
  exec.fence("gray_scott: initial state");
  steps_ = 0;
}

/// A step of Heun's method is the mean of the old state and of the state after two Euler steps.
void Solver::advance(const ExecutionSpace& exec, std::int64_t time_steps) {
  const EulerStep euler(options_);
  for (std::int64_t k = 0; k < time_steps; ++k) {
    slab_.exchange(exec, field_, 1);
    take_euler_step(exec, slab_, euler, field_, 1.0, stage_);
    slab_.exchange(exec, stage_, 1);
    take_euler_step(exec, slab_, euler, stage_, 0.5, field_);
    ++steps_;
  }
}

InitialState spots_and_noise(const SolverOptions& options) {
  constexpr std::int64_t spot_side = 8;
  const auto seed = static_cast<std::uint64_t>(options.seed);
  struct Corner {
    std::int64_t x;
    std::int64_t y;
  };
  std::vector<Corner> corners;
  for (std::uint64_t k = 0; k < static_cast<std::uint64_t>(options.spots); ++k) {
    corners.push_back(
        {random_below(2 * seed, 2 * k, options.width), random_below(2 * seed, 2 * k + 1, options.height)});
  }
  return [=](std::int64_t x, std::int64_t y) -> Concentrations {
    for (const Corner& corner : corners) {
      const bool is_beside = (x - corner.x + options.width) % options.width < spot_side;
      if (is_beside && (y - corner.y + options.height) % options.height < spot_side) return {0.5, 0.25};
    }
    const auto cell = static_cast<std::uint64_t>(y * options.width + x);
    return {1.0, options.noise * random_fraction(2 * seed + 1, cell)};
  };
}

}  // namespace gray_scott
